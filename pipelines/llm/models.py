"""Names of models, and the route that a task takes.

A route is a comma-separated list, best first: the first member answers, the others stand in while it is down. A member
whose provider has no key is left out. Several routes may share a task, `|` between them, each with its part of the
traffic: `90% claude-haiku-5-5,gpt-6-luna | 10% claude-sonnet-5-5`.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from schemas.llm import Model, Task
from schemas.settings import KEPT_NAMES, Settings

ANTHROPIC, OPENAI = "anthropic", "openai"
PROVIDERS = (ANTHROPIC, OPENAI)
_FAMILIES = ((re.compile(r"claude-"), ANTHROPIC), (re.compile(r"gpt-|o\d|chatgpt-|text-embedding-"), OPENAI))
_SHARE = re.compile(r"\s*(\d{1,3})\s*%\s*(.*)", re.DOTALL)

Route = tuple[Model, ...]

BUILT_IN = "built-in"
"""Names the model for embeddings that is part of the installation."""
EMBEDS = Model(OPENAI, "text-embedding-3-small")
"""Makes the vectors where its key is set and nothing else is named."""


class UnknownModel(ValueError):
    """The name says no provider that is known here, or the route is not written as one."""


class NoModel(Exception):
    """No member of a task's route can be called."""


@dataclass(frozen=True, slots=True)
class Variant:
    """A route and its share of the traffic; only the proportions of shares count."""

    share: int
    route: Route


Choice = tuple[Variant, ...]
"""What a task may take. Most have one variant."""


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


def parse_choice(text: str) -> Choice:
    """Shares are written for all routes or for none, which then share alike. Raises UnknownModel."""
    parts = text.split("|")
    shares = [found for part in parts if (found := _SHARE.fullmatch(part))]
    if not shares:
        return tuple(Variant(1, parse_route(part)) for part in parts)
    if len(shares) != len(parts):
        raise UnknownModel("each route needs its share, as in '90% claude-haiku-5-5 | 10% gpt-6-luna'")
    if not any(int(found[1]) for found in shares):
        raise UnknownModel("the shares are all 0")
    return tuple(Variant(int(found[1]), parse_route(found[2])) for found in shares)


def routes_of(settings: Settings) -> dict[Task, Choice]:
    """The routes of this installation. Raises UnknownModel, naming the setting."""
    texts = {task: getattr(settings, f"model_{task}") for task in Task}
    routes = {}
    for task, text in texts.items():
        if text is None or text == BUILT_IN:
            continue  # embeddings: see `embedding_route`
        try:
            routes[task] = parse_choice(text)
        except UnknownModel as error:
            raise UnknownModel(f"{KEPT_NAMES[f'model_{task}']}: {error}") from None
    return routes


def callable_providers(settings: Settings) -> frozenset[str]:
    """Those with a key; a base URL without one is a simulator's."""
    named = {
        ANTHROPIC: (settings.anthropic_api_key, settings.anthropic_base_url),
        OPENAI: (settings.openai_api_key, settings.openai_base_url),
    }
    return frozenset(provider for provider, (key, url) in named.items() if key is not None or url is not None)


def embedding_route(settings: Settings) -> Route:
    """Empty: the built-in model. Raises UnknownModel."""
    text = settings.model_embeddings
    if text == BUILT_IN:
        return ()
    if text is not None:
        return parse_route(text)
    return (EMBEDS,) if settings.openai_api_key is not None else ()


def not_named(settings: Settings) -> frozenset[Task]:
    """Tasks whose route is the default one."""
    return frozenset(task for task in Task if f"model_{task}" not in settings.model_fields_set)


@dataclass(frozen=True, slots=True)
class Routes:
    """The routes, and the providers that can be called. `defaults`: tasks whose route nobody has named."""

    routes: Mapping[Task, Choice]
    providers: frozenset[str]
    defaults: frozenset[Task] = frozenset()

    def pick(self, task: Task, overrides: Mapping[str, str] | None = None) -> Model:
        """The first callable member of the first route, for who asks on nobody's behalf. Raises NoModel."""
        return self.way(task, overrides)[0]

    def way(self, task: Task, overrides: Mapping[str, str] | None = None) -> Route:
        """The callable members of the first route. Raises NoModel."""
        own = self.callable_members(own_choice(task, overrides or {})[:1])
        return own or self.members(task, self.routes.get(task, ())[:1])

    def members(self, task: Task, choice: Choice) -> Route:
        """As `callable_members`; raises NoModel when there is none."""
        if found := self.callable_members(choice):
            return found
        raise NoModel(f"no model for task {task}: no key for {self._wanted(task)}")

    def callable_members(self, choice: Choice) -> Route:
        return tuple(model for variant in choice for model in variant.route if model.provider in self.providers)

    def left_out(self) -> list[Model]:
        """Members that somebody named and nobody can call, each once."""
        named = (choice for task, choice in self.routes.items() if task not in self.defaults)
        members: Iterable[Model] = (model for choice in named for variant in choice for model in variant.route)
        return sorted({m for m in members if m.provider not in self.providers}, key=str)

    def all_members(self) -> list[Model]:
        """Every model that may be asked, each once; embeddings aside."""
        chat = (choice for task, choice in self.routes.items() if task is not Task.EMBEDDINGS)
        return sorted({model for choice in chat for model in self.callable_members(choice)}, key=str)

    def _wanted(self, task: Task) -> str:
        members = (model for variant in self.routes.get(task, ()) for model in variant.route)
        return ", ".join(str(model) for model in members) or "any route"


def own_choice(task: Task, overrides: Mapping[str, str]) -> Choice:
    """What an organisation has named for the task; nothing when it cannot be read."""
    text = overrides.get(task.value)
    return () if text is None else readable_choice(text)


def readable_choice(text: str) -> Choice:
    """As `parse_choice`; nothing when it cannot be read, since what was stored once is not refused any more."""
    try:
        return parse_choice(text)
    except UnknownModel:
        return ()
