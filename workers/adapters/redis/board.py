"""What the clock sees of Redis in one round trip: is it the same Redis as before, and what waits in its queues."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

from redis.exceptions import RedisError

from workers.adapters.redis.courier import connect
from workers.runtime import wire

EPOCH_KEY = "replique:epoch"
"""Set once; whoever wipes or replaces Redis takes it away."""
CLOCK_KEY = "replique:clock"
"""There while a clock has looked within the last ten seconds."""
CLOCK_SECONDS = 10
LOOK_SECONDS = 5.0
"""Nobody waits for a look, and without one nothing can be admitted: there is no asking less often."""


class RedisAway(Exception):
    """Redis does not answer."""


@dataclass(frozen=True, slots=True)
class Board:
    epoch: str
    waiting: dict[str, int]
    """Hints in Redis by queue."""


class RedisBoard:
    """Make it on the event loop that uses it; `close` it there."""

    def __init__(self, url: str) -> None:
        self._client = connect(url)

    async def look(self, queues: Sequence[str]) -> Board:
        """Raises RedisAway."""
        try:
            async with asyncio.timeout(LOOK_SECONDS):
                found = await self._ask(queues)
        except (RedisError, OSError, TimeoutError) as error:
            raise RedisAway from error
        return Board(found[1].decode(), dict(zip(queues, found[3:], strict=True)))

    async def close(self) -> None:
        await self._client.aclose()

    async def _ask(self, queues: Sequence[str]) -> list[Any]:
        async with self._client.pipeline(transaction=True) as step:
            # Only where there is none: two clocks that find Redis empty agree on the first one's.
            step.set(EPOCH_KEY, uuid4().hex, nx=True)
            step.get(EPOCH_KEY)
            step.set(CLOCK_KEY, "1", ex=CLOCK_SECONDS)
            for queue in queues:
                step.llen(wire.list_key(queue))
            return await step.execute()
