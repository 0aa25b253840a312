"""Pushes hints to the workers' queues, many in one round trip."""

import asyncio
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from redis.asyncio import Redis
from redis.asyncio.retry import Retry
from redis.backoff import ExponentialBackoff
from redis.exceptions import RedisError

from schemas.jobs import Hint
from workers.runtime import wire
from workers.runtime.logging import logger
from workers.runtime.outage import Outage

log = logger(__name__)

BATCH = 500
PUSH_SECONDS = 5.0


def connect(url: str) -> "Redis":
    """A client of the running event loop. It tries once more when a connection turns out to be stale."""
    retry = Retry(ExponentialBackoff(cap=0.2, base=0.05), 1)
    return Redis.from_url(url, socket_timeout=3, socket_connect_timeout=2, retry=retry)


class RedisCourier:
    """The `Courier` port. Make it on the event loop that uses it; `close` it there."""

    def __init__(self, url: str) -> None:
        self._client = connect(url)
        self._redis = Outage(log, "redis", part="courier")

    async def push(self, hints: Sequence[Hint]) -> None:
        """At once and without promise. Bounded in time: nobody waits for a courier."""
        try:
            async with asyncio.timeout(PUSH_SECONDS):
                for start in range(0, len(hints), BATCH):
                    await self._push(_by_queue(hints[start : start + BATCH]))
        except (RedisError, OSError, TimeoutError) as error:
            self._redis.began(error)
        else:
            self._redis.ended()

    async def close(self) -> None:
        await self._client.aclose()

    async def _push(self, queues: Mapping[str, dict[str, bytes]]) -> None:
        async with self._client.pipeline(transaction=True) as step:
            for queue, messages in queues.items():
                step.hset(wire.payloads_key(queue), mapping=dict[Any, Any](messages))
                step.rpush(wire.list_key(queue), *messages)
            await step.execute()


def _by_queue(hints: Sequence[Hint]) -> Mapping[str, dict[str, bytes]]:
    queues: defaultdict[str, dict[str, bytes]] = defaultdict(dict)
    for hint in hints:
        message_id, message = wire.encode(hint)
        queues[hint.queue.value][message_id] = message
    return queues
