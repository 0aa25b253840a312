"""Two releases side by side: the last one's code on this one's schema, and this one's code before its migration."""

import json
import signal
import subprocess
from pathlib import Path
from typing import Any

import psycopg
import pytest
from alembic import command
from alembic.script import ScriptDirectory
from sqlalchemy import create_engine
from sqlalchemy.pool import NullPool

from tests.builders_face import a_gateway
from tests.builders_storage import a_message, a_storage
from tests.installations import bare_environment
from tests.stack import COMMAND, wait_until
from workers.adapters.postgres import migrate

RECORDED = Path(__file__).parents[1] / "data" / "upgrade"
LATER = "9999"
BREAKING = ("drop_", "rename", "alter_column", "execute")
"""In a migration, what may take something away from code that does not know it."""


def scripts() -> dict[str, Any]:
    found = ScriptDirectory.from_config(migrate._config()).walk_revisions()
    return {script.revision: script for script in found}


def at_revision(database_url: str, revision: str) -> None:
    """The schema of that release, in a database that is made anew."""
    with psycopg.connect(database_url, autocommit=True) as connection:
        connection.execute("DROP SCHEMA public CASCADE; CREATE SCHEMA public; DROP EXTENSION IF EXISTS vector CASCADE")
    engine = create_engine(migrate.sqlalchemy_url(database_url), poolclass=NullPool)
    with engine.begin() as connection:
        config = migrate._config()
        config.attributes["connection"] = connection
        command.upgrade(config, revision)
    engine.dispose()


def claims_to_be(database_url: str, revision: str, runs_since: str) -> None:
    """A later release has added a table and columns, and says since when code runs on that."""
    with psycopg.connect(database_url, autocommit=True) as connection:
        connection.execute("ALTER TABLE jobs ADD COLUMN of_a_later_release text NOT NULL DEFAULT ''")
        connection.execute("ALTER TABLE messages ADD COLUMN of_a_later_release jsonb")
        connection.execute("CREATE TABLE of_a_later_release (id bigint PRIMARY KEY)")
        connection.execute("UPDATE alembic_version SET version_num = %s", [revision])
        connection.execute("UPDATE installation SET runs_since = %s", [runs_since])


@pytest.mark.parametrize("release", sorted(path.stem for path in RECORDED.glob("*.json")))
async def test_what_an_earlier_release_asks_this_schema_answers(database_url: str, release: str) -> None:
    """Every statement it sends is planned with its values: names, types and constraints it relies on are there."""
    asked = json.loads((RECORDED / f"{release}.json").read_text())
    refused = {}
    async with await psycopg.AsyncConnection.connect(database_url, autocommit=True) as connection:
        (since,) = await (await connection.execute("SELECT runs_since FROM installation")).fetchone() or ("",)
        for each in asked:
            try:
                await connection.execute(f"EXPLAIN {each['statement']}", each["values"])  # type: ignore[arg-type]
            except psycopg.Error as error:
                refused[each["statement"]] = str(error)
    assert len(asked) > 100
    # A release that a migration has left behind says so itself; it is no longer recorded then.
    assert since <= release
    assert refused == {}


async def test_code_runs_on_a_later_schema_that_says_so(database_url: str) -> None:
    async with a_storage(database_url) as storage:
        head = migrate.newest() or ""
        claims_to_be(database_url, LATER, head)
        said = await storage.transitions.ingest(storage.org, a_message())
        assert said.job is not None
        assert await storage.try_claim() is not None
    async with a_gateway(database_url) as gateway:
        ready = await gateway.call("GET", "/readyz", key=None)
        assert (ready.status_code, ready.json()["postgres"]["migration"]) == (200, LATER)


async def test_code_that_a_later_schema_has_left_behind_is_not_ready(database_url: str) -> None:
    claims_to_be(database_url, LATER, LATER)
    async with a_gateway(database_url) as gateway:
        ready = await gateway.call("GET", "/readyz", key=None)
    assert (ready.status_code, ready.json()["code"], ready.json()["ready"]) == (503, "AR-503", False)


def test_a_process_begun_before_its_migration_says_so_and_waits(
    database_url: str, redis_url: str, tmp_path: Path
) -> None:
    before = scripts()[migrate.newest()].down_revision
    at_revision(database_url, before)
    log = tmp_path / "clock.log"
    environment = {**bare_environment(), "DATABASE_URL": database_url, "REDIS_URL": redis_url}
    with (
        log.open("ab") as sink,
        subprocess.Popen([*COMMAND, "clock"], env=environment, stdout=sink, stderr=sink, cwd=tmp_path) as clock,
    ):
        try:
            wait_until(lambda: "schema_too_old" in log.read_text(), 60, "a word about the schema")
            said = log.read_text()
            assert ("AR-503" in said, before in said, "redis_is_new" in said) == (True, True, False)
            migrate.upgrade(database_url)
            wait_until(lambda: "redis_is_new" in log.read_text(), 30, "the first look")
        finally:
            clock.send_signal(signal.SIGTERM)
            assert clock.wait(30) == 0


def test_a_migration_that_takes_something_away_says_since_when_code_runs() -> None:
    for revision, script in scripts().items():
        if revision <= "0011":
            continue
        text = Path(script.path).read_text()
        assert "runs_since" in text or not any(f"op.{word}" in text for word in BREAKING), revision
