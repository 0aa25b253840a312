"""Scenario files of `replique cost simulate`: YAML, with the line and column of whatever is wrong in it."""

from collections.abc import Sequence
from typing import Any

import yaml
from pydantic import ValidationError

from pipelines.llm.models import UnknownModel, parse_model
from schemas.llm import Model
from schemas.scenario import Scenario
from workers.cli.failures import CommandFailed
from workers.runtime.yaml12 import Loader, YamlRefused, reading


class ScenarioRefused(CommandFailed):
    """`FILE:LINE:COLUMN: what is wrong`, a line for each fault."""


def read(path: str) -> tuple[Scenario, Model]:
    """Raises ScenarioRefused."""
    try:
        with open(path, encoding="utf-8") as file:
            text = file.read()
    except (OSError, UnicodeDecodeError) as error:
        raise ScenarioRefused(f"{path} cannot be read: {error}") from error
    return parse(text, path)


def parse(text: str, shown: str) -> tuple[Scenario, Model]:
    try:
        with reading():
            node = yaml.compose(text, Loader)
            value = yaml.load(text, Loader)  # noqa: S506  (a SafeLoader)
    except YamlRefused as error:
        raise ScenarioRefused(f"{_at(shown, error.mark)}: {error.problem}") from error
    if not isinstance(value, dict):
        raise ScenarioRefused(f"{shown}:1:1: a scenario is a mapping with name, model, tokens, …")
    try:
        scenario = Scenario.model_validate(value)
    except ValidationError as error:
        faults = error.errors(include_input=False, include_url=False)
        raise ScenarioRefused("\n".join(_fault(shown, node, each["loc"], each["msg"]) for each in faults)) from None
    try:
        return scenario, parse_model(scenario.model)
    except UnknownModel as error:
        raise ScenarioRefused(_fault(shown, node, ("model",), str(error))) from None


def _fault(shown: str, node: yaml.Node | None, path: Sequence[int | str], sentence: str) -> str:
    named = ".".join(str(part) for part in path)
    return f"{_at(shown, _mark(node, path))}: {named}: {sentence}"


def _mark(node: yaml.Node | None, path: Sequence[int | str]) -> Any:
    """Where the value lies; for one that is missing, the mapping it should be in."""
    mark = node.start_mark if node is not None else None
    for part in path:
        if not isinstance(node, yaml.MappingNode):
            break
        found = next(((key, value) for key, value in node.value if key.value == part), None)
        if found is None:
            break
        mark, node = found[1].start_mark, found[1]
    return mark


def _at(shown: str, mark: Any) -> str:
    return shown if mark is None else f"{shown}:{mark.line + 1}:{mark.column + 1}"
