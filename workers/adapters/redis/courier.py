"""Pushes hints to the workers' queues, many in one round trip."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any
from uuid import uuid4

from redis.asyncio import Redis
from redis.asyncio.connection import AbstractConnection
from redis.asyncio.retry import Retry
from redis.backoff import ExponentialBackoff
from redis.exceptions import ConnectionError as RedisConnectionError

from schemas.jobs import Hint
from workers.adapters.clock import SystemClock
from workers.adapters.redis.patience import Patience
from workers.runtime import wire
from workers.runtime.logging import logger
from workers.runtime.outage import Outage

log = logger(__name__)

BATCH = 500
CLOCK_SECONDS = 5.0
"""A clock pushes hundreds of rows that count as sent from then on: it waits longer than a caller may."""


def connect(url: str) -> "Redis":
    """A client of the running event loop. It tries once more when a connection turns out to be stale."""
    retry = Retry(ExponentialBackoff(cap=0.2, base=0.05), 1)
    client = Redis.from_url(url, socket_timeout=3, socket_connect_timeout=2, retry=retry)
    client.connection_pool.connection_class = _told_as_cut(client.connection_pool.connection_class)
    return client


def _told_as_cut(kind: type[AbstractConnection]) -> type[AbstractConnection]:
    """The event loop refuses to write to a connection that was cut with a `RuntimeError`, which the client takes for a
    fault of ours: it neither tries another connection nor says that Redis is away."""

    class Connection(kind):  # type: ignore[misc, valid-type]
        async def send_packed_command(self, command: Any, check_health: bool = True) -> None:
            try:
                await super().send_packed_command(command, check_health)
            except RuntimeError as error:
                raise RedisConnectionError("the connection was cut") from error

    return Connection


class RedisCourier:
    """The `Courier` port. Make it on the event loop that uses it; `close` it there."""

    def __init__(self, url: str, patience: Patience | None = None) -> None:
        self._client = connect(url)
        self._patience = patience or Patience(_outage(), SystemClock())

    @classmethod
    def of_a_clock(cls, url: str) -> "RedisCourier":
        """Its Redis has answered a moment before, so it tries each time: a hint held back would count as sent."""
        return cls(url, Patience(_outage(), SystemClock(), CLOCK_SECONDS, 0))

    async def push(self, hints: Sequence[Hint]) -> None:
        """At once and without promise: nobody waits for a courier, and the clock finds what was not pushed."""
        await self._patience.ask(partial(self._push_all, hints))

    async def put(self, queue: str, message: bytes) -> bool:
        """A message as it is, at the end of its queue. False: Redis does not answer."""
        return bool(await self._patience.ask(partial(self._put, queue, message)))

    async def close(self) -> None:
        await self._client.aclose()

    async def _push_all(self, hints: Sequence[Hint]) -> None:
        for start in range(0, len(hints), BATCH):
            await self._push(_by_queue(hints[start : start + BATCH]))

    async def _put(self, queue: str, message: bytes) -> bool:
        await self._push({queue: {uuid4().hex: message}})
        return True

    async def _push(self, queues: Mapping[str, dict[str, bytes]]) -> None:
        async with self._client.pipeline(transaction=True) as step:
            for queue, messages in queues.items():
                step.hset(wire.payloads_key(queue), mapping=dict[Any, Any](messages))
                step.rpush(wire.list_key(queue), *messages)
            await step.execute()


def _outage() -> Outage:
    return Outage(log, "redis", part="courier")


def _by_queue(hints: Sequence[Hint]) -> Mapping[str, dict[str, bytes]]:
    queues: defaultdict[str, dict[str, bytes]] = defaultdict(dict)
    for hint in hints:
        message_id, message = wire.encode(hint)
        queues[hint.queue.value][message_id] = message
    return queues
