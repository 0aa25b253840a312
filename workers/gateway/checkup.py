"""Looks at everything this installation needs, and tells what is found: behind `replique doctor`."""

from collections.abc import Sequence
from decimal import Decimal
from urllib.parse import urlsplit
from uuid import uuid4

from pipelines.autoreply.prompts.prefix import shared_prefix
from pipelines.llm.breaker import State
from pipelines.llm.caching import cacheable_minimum, estimated_tokens
from pipelines.llm.models import (
    NoModel,
    Routes,
    UnknownModel,
    callable_providers,
    not_named,
    readable_choice,
    routes_of,
)
from pipelines.memory.switch import may_recall
from pipelines.ops.health import all_well, fair_share, findings
from schemas.errors import Unavailable
from schemas.health import Checkup, DoctorOut, PromptHealth
from schemas.llm import Model, Task, Usage
from schemas.media import FileMissing, FilesUnavailable
from schemas.settings import Settings, SettingsRefused
from workers.adapters.embedding import name_of
from workers.adapters.files.address import open_files
from workers.adapters.llm.prices import GenaiPrices
from workers.adapters.postgres.views.health import Health
from workers.gateway.parts import Breakers, Probe

NEEDED = (Task.REPLY, Task.REVIEW, Task.AUXILIARY)
LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})


class Doctor:
    def __init__(self, settings: Settings, health: Health, redis: Probe, breakers: Breakers) -> None:
        self._settings = settings
        self._health = health
        self._redis = redis
        self._breakers = breakers

    async def examine(self) -> DoctorOut:
        """Never raises for what is not well: that is a finding."""
        found = findings(await self._look())
        return DoctorOut(ok=all_well(found), findings=found)

    async def _look(self) -> Checkup:
        settings = self._settings
        try:
            server = await self._health.server(fair_share(settings.worker.threads))
        except Unavailable:
            server = None
        routes = _routes(settings)
        at_head = server is not None and server.fits
        return Checkup(
            server=server,
            redis=await self._redis(),
            routes={task.value: _picked(routes, task) for task in _asked(settings)},
            left_out=[str(model) for model in routes.left_out()] if routes else [],
            simulator=settings.simulator,
            prompt=await self._prompt(routes) if at_head and routes else None,
            storage_url=settings.storage_url,
            storage=None if settings.storage_url is None else await _stored(settings.storage_url),
            local=urlsplit(settings.public_url).hostname in LOOPBACK,
            threads=settings.worker.threads,
            embeds=name_of(settings),
            set_in_vain=[*settings.set_in_vain, *(server.own_in_vain if server else ())],
            unpriced=_unpriced(routes, server.own_routes if server else ()),
            down=[model for model, state in (await self._breakers()).items() if state is not State.CLOSED],
        )

    async def _prompt(self, routes: Routes) -> PromptHealth | None:
        try:
            shortest = await self._health.shortest_persona()
            if shortest is None:
                return None
            organization, persona = shortest
            model = routes.pick(Task.REPLY, organization.spec.models)
        except (Unavailable, NoModel):
            return None
        recalls = may_recall(organization.spec.flags.ai_rag_enabled, self._settings.rag_global_enabled)
        prefix = shared_prefix(organization, persona, recalls=recalls)
        segments = {name: estimated_tokens(text) for name, text in prefix.items()}
        minimum = cacheable_minimum(model)
        return PromptHealth(
            persona.name,
            str(model),
            segments,
            minimum,
            _a_thousand_times(model, Usage(input=sum(segments.values()))),
            _a_thousand_times(model, Usage(cache_read=minimum)),
        )


def _a_thousand_times(model: Model, usage: Usage) -> Decimal | None:
    """US dollars. The table of prices is large, and loaded where somebody asks."""
    from workers.adapters.rates import exact  # noqa: PLC0415

    try:
        return 1_000 * exact(model, usage)
    except LookupError:
        return None


def _routes(settings: Settings) -> Routes | None:
    """None: a route names a model of no known provider."""
    try:
        return Routes(routes_of(settings), callable_providers(settings), not_named(settings))
    except UnknownModel:
        return None


def _unpriced(routes: Routes | None, own: Sequence[str]) -> list[str]:
    """Of every member of every route, the organisations' `own` too: a fallback is paid for as well."""
    prices = GenaiPrices()
    choices = [*(routes.routes.values() if routes else ()), *map(readable_choice, own)]
    members = {model for choice in choices for variant in choice for model in variant.route}
    return sorted(str(model) for model in members if prices.cost(model, Usage(input=1)) is None)


def known_routes(settings: Settings) -> Routes:
    """As workers have them; empty where they would not start."""
    return _routes(settings) or Routes({}, frozenset())


def _asked(settings: Settings) -> tuple[Task, ...]:
    return (*NEEDED, Task.REPLY_STRONG) if settings.routing_dynamic else NEEDED


def _picked(routes: Routes | None, task: Task) -> str | None:
    try:
        return str(routes.pick(task)) if routes else None
    except NoModel:
        return None


async def _stored(url: str) -> str | None:
    """Put a file, read it, take it away: what is wrong, or None."""
    key = f"doctor/{uuid4().hex}"
    try:
        files = open_files(url)
        await files.put(key, b"well", "text/plain")
        content = (await files.get(key)).content
        await files.delete(key)
    except (FilesUnavailable, FileMissing, SettingsRefused) as error:
        return str(error)
    return None if content == b"well" else "it gave back something else"
