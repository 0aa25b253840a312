"""The `Gate` port: what one worker hears from a provider, all of them know.

A rate limit is a key that lives until its ramp is over, so the time since it opened is read from Redis's own clock,
and machines need not agree on theirs. Every process remembers what it has seen: while Redis is away it goes by that,
and a Redis that was wiped is told again.
"""

import random
from collections import Counter
from dataclasses import dataclass, field
from functools import partial
from uuid import uuid4

from pipelines.llm import ramp
from pipelines.ports import Clock
from schemas.llm import Model
from workers.adapters.redis.courier import connect
from workers.adapters.redis.patience import Patience
from workers.runtime.logging import logger
from workers.runtime.outage import Outage

log = logger(__name__)


def key_of(model: Model) -> str:
    return f"replique:gate:{model}"


@dataclass(slots=True)
class Shut:
    """One rate limit. `opens_at` is on this process's monotonic clock; `token` tells it from the one before; `taken`
    is what this process took of it."""

    token: str
    opens_at: float
    taken: Counter[str] = field(default_factory=Counter)


class RedisGate:
    """Make it on the event loop that uses it; `close_connection` there."""

    def __init__(self, url: str, clock: Clock, ramp_seconds: float) -> None:
        self._client = connect(url)
        self._clock = clock
        self._width = ramp_seconds
        self._known: dict[Model, Shut] = {}
        self._patience = Patience(Outage(log, "redis", part="gate"), clock)

    async def wait(self, model: Model) -> float:
        shut = await self._newest(model)
        if shut is None:
            return 0.0
        since = self._clock.monotonic() - shut.opens_at
        step = ramp.step_at(since, self._width)
        if step > ramp.LAST_STEP:
            self._known.pop(model, None)
            return 0.0
        if step >= 0 and await self._take(model, shut, f"step{step}") <= ramp.permits(step):
            return 0.0
        ticket = await self._take(model, shut, "tickets")
        return ramp.come_back(ticket, since, self._width, random.random())  # noqa: S311  (jitter)

    async def close(self, model: Model, seconds: float) -> None:
        opens_at = self._clock.monotonic() + seconds
        known = await self._newest(model)
        if known is not None and known.opens_at >= opens_at:
            return
        shut = self._remember(model, Shut(uuid4().hex, opens_at))
        log.warning("model_rate_limited", model=str(model), seconds=round(seconds, 1))
        await self._tell(model, shut)

    async def close_connection(self) -> None:
        await self._client.aclose()

    async def _newest(self, model: Model) -> Shut | None:
        """As Redis has it, unless this process knows of a later one: then Redis was wiped, or was away."""
        answered, shared = await self._shared(model)
        known = self._known.get(model)  # read after each wait: a later limit may have been heard of meanwhile
        if shared is not None and (known is None or shared.opens_at >= known.opens_at or shared.token == known.token):
            return self._remember(model, shared)
        if answered and known is not None:
            await self._tell(model, known)
        return self._known.get(model)

    async def _shared(self, model: Model) -> tuple[bool, Shut | None]:
        """(Redis has answered, what it has)."""
        async with self._client.pipeline(transaction=True) as step:
            step.get(key_of(model))
            step.pttl(key_of(model))
            found = await self._patience.ask(step.execute)
        if found is None or found[0] is None or found[1] < 0:
            return found is not None, None
        return True, Shut(found[0].decode(), self._clock.monotonic() + found[1] / 1000 - self._ramp)

    async def _tell(self, model: Model, shut: Shut) -> None:
        if (lives := self._lives(shut)) > 0:
            await self._patience.ask(partial(self._client.set, key_of(model), shut.token, px=lives))

    async def _take(self, model: Model, shut: Shut, what: str) -> int:
        """How many have taken one of these, this one counted; by this process alone while Redis is away."""
        shut.taken[what] += 1
        key = f"{key_of(model)}:{shut.token}:{what}"
        async with self._client.pipeline(transaction=True) as step:
            step.incr(key)
            step.pexpire(key, max(self._lives(shut), 1))
            found = await self._patience.ask(step.execute)
        return shut.taken[what] if found is None else int(found[0])

    def _remember(self, model: Model, shut: Shut) -> Shut:
        known = self._known.get(model)
        if known is not None and known.token == shut.token:
            known.opens_at = shut.opens_at
            return known
        self._known[model] = shut
        return shut

    @property
    def _ramp(self) -> float:
        return ramp.STEPS * self._width

    def _lives(self, shut: Shut) -> int:
        """Milliseconds until nobody needs to know of it."""
        return round((shut.opens_at + self._ramp - self._clock.monotonic()) * 1000)
