"""A persona to talk to without sending anything: the pipeline of the workers, on a conversation that exists nowhere."""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from pipelines.autoreply.pipeline import ReplyPipeline
from pipelines.llm.breaker import ClosedBreaker, Rules
from pipelines.llm.ramp import OpenGate
from pipelines.ports import Breaker, ChatModel, Clock, Embedder, Gate
from schemas.decisions import Decision
from schemas.errors import AppError, Code, Unavailable
from schemas.ids import OrgId
from schemas.settings import Settings, SettingsRefused
from workers.adapters.postgres.catalogue import StoredCatalogue
from workers.adapters.postgres.database import Database
from workers.adapters.postgres.memory import StoredMemory
from workers.adapters.postgres.playing import PlayedRun, Playing, Said
from workers.adapters.postgres.shop import StoredShop
from workers.adapters.redis.breaker import RedisBreaker
from workers.adapters.redis.gate import RedisGate
from workers.runtime.addresses import redis_address

AT_ONCE = 2
"""Runs of this gateway. It has other things to do."""


class NoModelHere(AppError):
    """This gateway has no model to ask: its process was started without the provider's key."""

    code, http_status = Code.UNAVAILABLE, 503


@dataclass(frozen=True, slots=True)
class Played:
    decision: Decision
    trace: Sequence[dict[str, Any]]


async def _left(run: PlayedRun) -> None:
    """Also while the gateway stops. Where the database is what failed, the clock finds it later."""
    with suppress(Unavailable):
        await asyncio.shield(run.cut_off())


@dataclass(slots=True)
class Playground:
    settings: Settings
    database: Database
    clock: Clock
    embedder: Embedder
    playing: Playing
    _replies: ReplyPipeline | None = None
    _models: Sequence[ChatModel] = ()
    _shared: tuple[RedisGate, RedisBreaker] | None = None
    """With the workers: whom a rate limit sends away, and who is left alone while it is down."""
    _turn: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(AT_ONCE))

    async def answer(self, org: OrgId, persona: str, said: Sequence[Said], who: str) -> Played:
        """What the persona would say now. Raises NotFound, NoModelHere, Unavailable."""
        replies = await self._ready()
        case = await self.playing.case(org, persona, said)
        run = self.playing.run(case, who)
        async with self._turn:
            await self.playing.begin(run)
            try:
                decision = await replies.run(case, run.resume, run.keep)
                await run.end(getattr(decision, "call", None))
            except BaseException:
                await _left(run)
                raise
        items = [*(item for step in run.steps for item in step.trace), *getattr(decision, "trace", ())]
        return Played(decision, [item.shown() for item in items])

    async def close(self) -> None:
        for door in self._shared or ():
            await door.close_connection()
        for model in self._models:
            if (close := getattr(model, "close", None)) is not None:
                await close()

    async def _ready(self) -> ReplyPipeline:
        if self._replies is None:
            if self._shared is None and self.settings.redis_url is not None:
                address, llm = redis_address(self.settings), self.settings.llm
                rules = Rules(llm.breaker_failures, llm.breaker_seconds)
                gate = RedisGate(address, self.clock, llm.ramp_seconds)
                self._shared = gate, RedisBreaker(address, self.clock, rules)
            try:
                # Loading the providers' libraries takes a second or two: beside the event loop.
                self._replies = await asyncio.to_thread(self._build, *(self._shared or (OpenGate(), ClosedBreaker())))
            except SettingsRefused:
                raise NoModelHere("no model can be asked from this gateway") from None
            self._models = tuple(self._replies.models.values())
        return self._replies

    def _build(self, gate: Gate, breaker: Breaker) -> ReplyPipeline:
        """Raises SettingsRefused when there is no model to ask."""
        from workers.adapters.llm import build  # noqa: PLC0415

        llm = build(self.settings, self.clock)
        memory, shop = StoredMemory(self.database, self.embedder), StoredShop(self.database)
        catalogue = StoredCatalogue(self.database, self.embedder)
        return ReplyPipeline(self.clock, llm.models, llm.prices, self.settings, gate, memory, catalogue, shop, breaker)
