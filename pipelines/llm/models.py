"""Names of models, and which one a task takes.

A route is a comma-separated list, best first. A member whose provider has no key is left out.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from schemas.llm import Model, Task
from schemas.settings import KEPT_NAMES, Settings

ANTHROPIC, OPENAI = "anthropic", "openai"
PROVIDERS = (ANTHROPIC, OPENAI)
_FAMILIES = ((re.compile(r"claude-"), ANTHROPIC), (re.compile(r"gpt-|o\d|chatgpt-|text-embedding-"), OPENAI))

Route = tuple[Model, ...]


class UnknownModel(ValueError):
    """The name says no provider that is known here."""


class NoModel(Exception):
    """No member of a task's route can be called."""


def parse_model(text: str) -> Model:
    """`claude-haiku-5-5` or `anthropic:claude-haiku-5-5`. Raises UnknownModel."""
    name = text.strip()
    provider, colon, rest = name.partition(":")
    if colon and provider in PROVIDERS and rest:
        return Model(provider, rest)
    for family, owner in _FAMILIES:
        if not colon and family.match(name):
            return Model(owner, name)
    raise UnknownModel(f"{name!r} names no known provider; write anthropic:NAME or openai:NAME")


def parse_route(text: str) -> Route:
    """Raises UnknownModel, also for an empty route."""
    names = [name for name in text.split(",") if name.strip()]
    if not names:
        raise UnknownModel("the route is empty")
    return tuple(parse_model(name) for name in names)


def routes_of(settings: Settings) -> dict[Task, Route]:
    """The routes of this installation. Raises UnknownModel, naming the setting."""
    texts = {task: getattr(settings, f"model_{task}") for task in Task}
    routes = {}
    for task, text in texts.items():
        if text is None:
            continue  # embeddings: the built-in model unless one is named
        try:
            routes[task] = parse_route(text)
        except UnknownModel as error:
            raise UnknownModel(f"{KEPT_NAMES[f'model_{task}']}: {error}") from None
    return routes


@dataclass(frozen=True, slots=True)
class Routes:
    """The routes, and the providers that can be called."""

    routes: Mapping[Task, Route]
    providers: frozenset[str]

    def pick(self, task: Task, overrides: Mapping[str, str] | None = None) -> Model:
        """The first callable member: of the organisation's own route if it names a usable one, else of ours.

        Raises NoModel.
        """
        own = _own_route(task, overrides or {})
        for model in (*own, *self.routes.get(task, ())):
            if model.provider in self.providers:
                return model
        raise NoModel(f"no model for task {task}: no key for {self._wanted(task)}")

    def left_out(self) -> list[Model]:
        """Members that nobody can call, each once."""
        members: Iterable[Model] = (model for route in self.routes.values() for model in route)
        return sorted({m for m in members if m.provider not in self.providers}, key=str)

    def _wanted(self, task: Task) -> str:
        return ", ".join(str(model) for model in self.routes.get(task, ())) or "any route"


def _own_route(task: Task, overrides: Mapping[str, str]) -> Route:
    text = overrides.get(task.value)
    if text is None:
        return ()
    try:
        return parse_route(text)
    except UnknownModel:
        return ()
