"""The walks of the routes see what they look for: with one rule of the gateway broken, the walk that guards it is red.

The whole program is copied and edited, and the walk run on the copy as it stands. `make test-slow`.
"""

import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.stack import ROOT, clean_environment

SECURITY = "tests/integration/test_security_walk.py"
AUDIT = "tests/integration/test_audit_walk.py"
ROUTES = "workers/gateway/routes/conversations.py"
TAKEOVER = "@allows({}scoped=True)\nasync def takeover("

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]


@dataclass(frozen=True)
class Mutant:
    """What stands exactly once in a file, and what instead; the test that must be red, and what it says then."""

    path: str
    old: str
    new: str
    test: str
    says: str


MUTANTS = {
    "a route nobody classified": Mutant(
        "workers/gateway/routes/health.py",
        '@router.get("/healthz"',
        '@router.get("/everything")\nasync def everything(parts: The) -> Response:\n    return answer(Alive())\n\n\n'
        '@router.get("/healthz"',
        f"{SECURITY}::test_every_route_is_classified",
        "GET /everything",
    ),
    "a route without its role check": Mutant(
        ROUTES,
        TAKEOVER.format("Role.OPERATOR, "),
        TAKEOVER.format("*Role, "),
        f"{SECURITY}::test_a_key_of_a_lesser_role_opens_nothing",
        "AssertionError",
    ),
    "a page without its role check": Mutant(
        "workers/gateway/console/window.py",
        "@open_to(Role.OPERATOR)\nasync def window",
        "@open_to(*Role)\nasync def window",
        f"{SECURITY}::test_the_console_shows_nothing_without_a_session_and_to_lesser_roles",
        "('GET /console/', '/')",
    ),
    "a route that reads of all organisations": Mutant(
        "workers/adapters/postgres/views/conversations.py",
        '_OWN = text(_ONE + "WHERE o.id = :org")',
        '_OWN = text(_ONE + "WHERE o.id <> 0 OR o.id = :org")',
        f"{SECURITY}::test_a_key_of_another_organisation_finds_nothing",
        "GET /v1/conversations/{id}",
    ),
    "a route that writes for all organisations": Mutant(
        "workers/adapters/postgres/locks.py",
        "    if row is None or (org is not None and row.org_id != org):\n",
        "    if row is None:\n",
        f"{SECURITY}::test_a_key_of_another_organisation_finds_nothing",
        "jobs",
    ),
    "an action without audit": Mutant(
        "workers/adapters/postgres/holding.py",
        '    await note_job(tx, conversation.org, who, "job.held", job.id)\n',
        "",
        f"{AUDIT}::test_every_change_says_who_made_it",
        "AssertionError: hold",
    ),
    "an action of nobody": Mutant(
        "workers/adapters/postgres/steering.py",
        '    await note(tx, org, who, "conversation.resumed"',
        '    await note(tx, org, "", "conversation.resumed"',
        f"{AUDIT}::test_every_change_says_who_made_it",
        "POST /v1/conversations/{id}/resume",
    ),
}


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    for name in ("schemas", "pipelines", "workers", "tests", "deploy"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__", ".axe", ".pictures"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    return tmp_path


def walked(home: Path, *tests: str) -> tuple[int, str]:
    """pytest's exit code there, and what it says: 1 is tests that failed, and no other fault."""
    environment = clean_environment() | {"PYTHONPATH": str(home)}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *tests]
    ended = subprocess.run(command, cwd=home, env=environment, capture_output=True, text=True, timeout=500)
    return ended.returncode, ended.stdout + ended.stderr


@pytest.mark.parametrize("mutant", MUTANTS.values(), ids=list(MUTANTS))
def test_a_walk_sees_the_rule_that_is_broken(copy: Path, mutant: Mutant) -> None:
    source = (copy / mutant.path).read_text()
    assert source.count(mutant.old) == 1, f"{mutant.old!r} stands {source.count(mutant.old)} times in {mutant.path}"
    (copy / mutant.path).write_text(source.replace(mutant.old, mutant.new))

    code, said = walked(copy, mutant.test)

    assert code == 1, said[-3000:]
    assert f"FAILED {mutant.test}" in said, said[-3000:]
    assert mutant.says in said, said[-3000:]


def test_a_copy_in_which_nothing_is_broken_passes(copy: Path) -> None:
    code, said = walked(copy, *sorted({mutant.test for mutant in MUTANTS.values()}))

    assert code == 0, said[-3000:]
