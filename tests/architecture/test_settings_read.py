"""Every setting is read, or stands among those that `doctor` calls set in vain."""

import re
from pathlib import Path

from pydantic import BaseModel

from schemas.llm import Task
from schemas.settings import KEPT_NAMES, NOT_READ, Settings

ROOT = Path(__file__).parents[2]
CODE = {
    path: path.read_text() for layer in ("pipelines", "workers") for path in sorted((ROOT / layer).rglob("*.py"))
} | {Path("settings"): (ROOT / "schemas" / "settings.py").read_text()}


def is_read(field: str) -> bool:
    """Named after a dot; the routes of tasks are read by their names, so the task must be asked for."""
    if field.startswith("model_") and (task := field.removeprefix("model_")) in set(Task):
        asked = re.compile(rf"\bTask\.{task.upper()}\b")
        if any(asked.search(text) for path, text in CODE.items() if "llm" not in path.parts):
            return True
    return any(re.search(rf"\.{field}\b", text) for text in CODE.values())


def test_what_nothing_reads_is_listed_and_what_is_listed_is_not_read() -> None:
    single = [name for name, field in Settings.model_fields.items() if not _is_group(field.annotation)]

    assert {name for name in single if not is_read(name)} == NOT_READ


def test_settings_of_groups_are_read() -> None:
    groups = [field.annotation for field in Settings.model_fields.values() if _is_group(field.annotation)]
    fields = [name for group in groups for name in group.model_fields]

    assert len(fields) > 40
    assert [name for name in fields if not is_read(name)] == []


def test_doctor_can_name_each() -> None:
    assert set(KEPT_NAMES) >= NOT_READ


def _is_group(annotation: object) -> bool:
    return isinstance(annotation, type) and issubclass(annotation, BaseModel)
