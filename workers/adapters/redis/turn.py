"""Which of the processes that make vectors embeds the old passages again: one at a time, and only while all of them use
the same model. Redis may forget: then two embed the same passages, and one of them finds nothing to write."""

from functools import partial
from typing import Any

from pipelines.ports import Clock
from workers.adapters.redis.courier import connect
from workers.adapters.redis.patience import Patience
from workers.runtime.logging import logger
from workers.runtime.outage import Outage

log = logger(__name__)

MODELS = "replique:embeds:models"
HOLDER = "replique:embeds:holder"
SEEN_SECONDS = 60.0
"""A model of which no process has told for so long is nobody's any more. A rolling restart takes less."""


class RedisTurn:
    """Make it on the event loop that uses it; `close_connection` there."""

    def __init__(self, url: str, clock: Clock, instance: str, seconds: float = SEEN_SECONDS) -> None:
        self._client = connect(url)
        self._clock = clock
        self._instance = instance
        self._seconds = seconds
        self._patience = Patience(Outage(log, "redis", part="embedding"), clock)

    async def mine(self, model: str) -> bool:
        """Tells that this process uses the model, too. False as well while Redis is away."""
        return bool(await self._patience.ask(partial(self._look, model)))

    async def _look(self, model: str) -> bool:
        now = self._clock.now().timestamp()
        async with self._client.pipeline(transaction=True) as step:
            step.zadd(MODELS, {model: now})
            step.zremrangebyscore(MODELS, "-inf", now - self._seconds)
            step.zcard(MODELS)
            step.set(HOLDER, self._instance, nx=True, px=round(self._seconds * 1000))
            step.get(HOLDER)
            *_, models, _, holder = await step.execute()
        if models != 1 or _text(holder) != self._instance:
            return False
        await self._client.pexpire(HOLDER, round(self._seconds * 1000))
        return True

    async def close_connection(self) -> None:
        await self._client.aclose()


def _text(value: Any) -> str | None:
    return value.decode() if isinstance(value, bytes) else value
