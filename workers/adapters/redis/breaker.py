"""The `Breaker` port: what one worker sees fail, all of them leave alone.

Four keys a model, each with an end of its own, so that nothing is to be cleared up: the row of failures, how often it
was opened, that it is open, and who finds out whether it is back. Every process also counts for itself: while Redis is
away it goes by that.
"""

from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any

from pipelines.llm.breaker import FORGET_SECONDS, WINDOW_SECONDS, OwnBreaker, Rules, State
from pipelines.ports import Clock
from schemas.llm import Model
from workers.adapters.redis.courier import connect
from workers.adapters.redis.patience import Patience
from workers.runtime.logging import logger
from workers.runtime.outage import Outage

log = logger(__name__)

BELIEVED_SECONDS = 0.5
"""So long a model that was well is not asked about again."""
NAMES = "replique:breakers"
"""The models that ever failed, for who looks at all of them."""


def key_of(model: Model, what: str) -> str:
    return f"replique:breaker:{model}:{what}"


class RedisBreaker:
    """Make it on the event loop that uses it; `close_connection` there."""

    def __init__(self, url: str, clock: Clock, rules: Rules) -> None:
        self._client = connect(url)
        self._clock = clock
        self._rules = rules
        self._own = OwnBreaker(clock, rules)
        self._patience = Patience(Outage(log, "redis", part="breaker"), clock)
        self._well_until: dict[Model, float] = {}
        self._suspect: set[Model] = set()

    async def admits(self, model: Model) -> bool:
        if self._clock.monotonic() < self._well_until.get(model, 0.0):
            return True
        keys = [key_of(model, what) for what in ("failures", "openings", "open")]
        found = await self._patience.ask(partial(self._client.mget, keys))
        if found is None:
            return self._own.admits(model)
        failures, openings, is_open = found
        if failures is not None or openings is not None:
            self._suspect.add(model)
        if openings is not None:
            return is_open is None and await self._is_the_probe(model)
        if failures is None:
            self._well_until[model] = self._clock.monotonic() + BELIEVED_SECONDS
        return True

    async def failed(self, model: Model) -> None:
        self._well_until.pop(model, None)
        self._suspect.add(model)
        opened = self._own.failed(model)
        found = await self._patience.ask(partial(self._count, model))
        if found is None:
            if opened:
                self._tell(model, "alone")
            return
        failures, openings, is_open = int(found[0]), int(found[2] or 0), found[3] is not None
        if not is_open and (openings or failures >= self._rules.failures):
            await self._open(model, openings + 1)

    async def answered(self, model: Model) -> None:
        if model not in self._suspect:
            return
        self._suspect.discard(model)
        self._own.answered(model)
        keys = [key_of(model, what) for what in ("failures", "openings", "open", "probe")]
        await self._patience.ask(partial(self._client.delete, *keys))

    async def close_connection(self) -> None:
        await self._client.aclose()

    async def _is_the_probe(self, model: Model) -> bool:
        """At most one call in each first pause finds out."""
        lives = round(self._rules.seconds * 1000)
        taken = await self._patience.ask(partial(self._client.set, key_of(model, "probe"), "1", nx=True, px=lives))
        return bool(taken)

    async def _count(self, model: Model) -> list[Any]:
        async with self._client.pipeline(transaction=True) as step:
            step.incr(key_of(model, "failures"))
            step.pexpire(key_of(model, "failures"), round(WINDOW_SECONDS * 1000))
            step.get(key_of(model, "openings"))
            step.get(key_of(model, "open"))
            step.sadd(NAMES, str(model))
            return list(await step.execute())

    async def _open(self, model: Model, openings: int) -> None:
        """Two that fail side by side both write the same."""
        pause = self._rules.pause(openings)

        async def write() -> Any:
            async with self._client.pipeline(transaction=True) as step:
                step.set(key_of(model, "open"), "1", px=round(pause * 1000))
                step.set(key_of(model, "openings"), openings, px=round((pause + FORGET_SECONDS) * 1000))
                step.delete(key_of(model, "probe"))
                return await step.execute()

        await self._patience.ask(write)
        self._tell(model, "shared", seconds=round(pause, 1), openings=openings)

    def _tell(self, model: Model, counted: str, **facts: Any) -> None:
        log.warning("model_breaker_opened", model=str(model), counted=counted, **facts)


class BreakerStates:
    """What all workers together know, for who only shows it."""

    def __init__(self, url: str, clock: Clock, models: Iterable[Model]) -> None:
        """`models` are shown as closed before they ever failed."""
        self._client = connect(url)
        self._patience = Patience(Outage(log, "redis", part="breaker"), clock)
        self._models = [str(model) for model in models]

    async def look(self) -> Mapping[str, State]:
        """By `provider:name`; nothing while Redis does not answer."""
        return await self._patience.ask(self._read) or {}

    async def close(self) -> None:
        await self._client.aclose()

    async def _read(self) -> dict[str, State]:
        failed = {name.decode() for name in await self._client.smembers(NAMES) if isinstance(name, bytes)}
        names = sorted(failed | set(self._models))
        if not names:
            return {}
        keys = [f"replique:breaker:{name}:{what}" for name in names for what in ("openings", "open")]
        found = await self._client.mget(keys)
        return {name: _state(found[2 * n], found[2 * n + 1]) for n, name in enumerate(names)}


def _state(openings: bytes | str | None, is_open: bytes | str | None) -> State:
    if openings is None:
        return State.CLOSED
    return State.HALF_OPEN if is_open is None else State.OPEN
