"""Do the guides tell the truth? Their links lead somewhere, their examples are accepted, their commands exist."""

import json
import re
import shlex
from pathlib import Path

import pytest
import typer

from schemas.http import MessageIn
from schemas.manifest import Manifest
from workers.cli import manifest
from workers.cli.app import app

ROOT = Path(__file__).parents[2]
GUIDES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def shown(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def dead_links(guide: Path) -> list[str]:
    targets = re.findall(r"\]\(([^)#\s]+)", guide.read_text(encoding="utf-8"))
    return [target for target in targets if "://" not in target and not (guide.parent / target).exists()]


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", README, re.S)


def commands() -> set[str]:
    """Every command line of the program, as `jobs show`."""
    group = typer.main.get_command(app)
    found = set()
    for name, command in group.commands.items():  # type: ignore[attr-defined]
        below = getattr(command, "commands", None)
        found |= {f"{name} {sub}" for sub in below} if below else {name}
    return found


@pytest.mark.parametrize("guide", GUIDES, ids=shown)
def test_links_lead_somewhere(guide: Path) -> None:
    assert dead_links(guide) == []


def test_the_manifest_of_the_readme_is_accepted() -> None:
    documents = manifest.parse(blocks("yaml")[0], "README.md")
    accepted = Manifest.model_validate({"resources": documents})
    assert [(d.kind, d.name) for d in accepted.resources] == [("Organization", "shop"), ("Persona", "maya")]


def test_the_media_of_the_readme_are_accepted() -> None:
    documents = manifest.parse(next(block for block in blocks("yaml") if "Album" in block), "README.md")
    accepted = Manifest.model_validate({"resources": documents})
    assert [(d.kind, d.name) for d in accepted.resources] == [("Album", "summit"), ("MediaItem", "summit-1")]


def test_the_message_of_the_readme_is_accepted() -> None:
    curl = next(block for block in blocks("sh") if block.startswith("curl"))
    body = shlex.split(curl, comments=True)[-1]
    assert MessageIn.model_validate(json.loads(body)).id == "m-981"


def test_the_python_of_the_readme_compiles() -> None:
    compile(blocks("python")[0], "README.md", "exec")


def test_every_command_of_the_readme_exists() -> None:
    known = commands()
    told = re.findall(
        r"\breplique ((?:jobs|keys|rules) [a-z-]+|[a-z]+)", "\n".join([*blocks("sh"), *re.findall("`.*?`", README)])
    )
    assert {line for line in told if line not in known} == set()
    assert len(told) > 10
