"""The broker: dramatiq on Redis as a courier of hints.

A hint is taken from Redis for good when it is fetched. The row it points to is the truth: what a dying worker takes
with it, the clock sends again. So there are no acknowledgement sets, heartbeats, delay queues or maintenance, and
Redis holds nothing but what waits. See docs/decisions/courier-not-queue.md.
"""

import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from threading import Event
from typing import Any
from uuid import uuid4

from dramatiq import Message
from dramatiq.broker import Consumer, MessageProxy
from dramatiq.brokers.redis import RedisBroker
from redis import Redis, RedisError
from redis.backoff import ExponentialBackoff
from redis.retry import Retry

from schemas.jobs import Hint
from workers.runtime import wire
from workers.runtime.logging import logger
from workers.runtime.outage import Outage

log = logger(__name__)

UnreadableKeeper = Callable[[str, bytes, str], None]
"""Told of a message that is no hint: its queue, its bytes, what is wrong."""

WAIT_SECONDS = 0.5
"""How long a consumer waits for a hint, or for a free place, before it looks whether it should end."""
AWAY_SECONDS = 0.5

# One step, so that a hint is either still in Redis or in our hands, and no payload stays behind without its id.
_FETCH = """
local ids = redis.call('LPOP', KEYS[1], ARGV[1])
if not ids then return {} end
local payloads = redis.call('HMGET', KEYS[2], unpack(ids))
redis.call('HDEL', KEYS[2], unpack(ids))
return payloads
"""


def connect(url: str) -> "Redis":
    """A client that gives up soon: whoever waits for Redis waits in a loop of its own."""
    retry = Retry(ExponentialBackoff(cap=0.5, base=0.05), 2)
    return Redis.from_url(url, socket_timeout=5, socket_connect_timeout=2, retry=retry, health_check_interval=0)


class HintBroker(RedisBroker):
    """`hints` says which actor of which queue reads what; `unreadable` is told of everything else."""

    def __init__(self, url: str, hints: Sequence[type[Hint]], unreadable: UnreadableKeeper) -> None:
        super().__init__(client=connect(url), middleware=[], namespace=wire.NAMESPACE)  # type: ignore[no-untyped-call]
        self.unreadable = unreadable
        self._hints = tuple(hints)
        self._fetch = self.client.register_script(_FETCH)

    def declare_queue(self, queue_name: str) -> None:
        """Without a delay queue: due times live in the database."""
        if queue_name not in self.queues:
            self.emit_before("declare_queue", queue_name)
            self.queues.add(queue_name)
            self.emit_after("declare_queue", queue_name)

    def consume(self, queue_name: str, prefetch: int = 1, timeout: int = 5000) -> Consumer:
        return HintConsumer(self, queue_name, prefetch)

    def hints_of(self, queue: str) -> Mapping[str, type[Hint]]:
        return {hint.name: hint for hint in self._hints if hint.queue == queue}

    def fetch(self, queue: str, most: int) -> list[bytes]:
        """Up to `most` messages, gone from Redis with this call. Raises RedisError."""
        keys = [wire.list_key(queue), wire.payloads_key(queue)]
        found = self._fetch(keys=keys, args=[most])
        return [raw for raw in found if raw is not None]

    def wait(self, queue: str, seconds: float) -> None:
        """Until something waits in the queue, or the time is over. Takes nothing: the first entry is moved from the
        head of the list to its head. Raises RedisError."""
        key = wire.list_key(queue)
        self.client.blmove(key, key, timeout=seconds, src="LEFT", dest="LEFT")  # type: ignore[arg-type]

    def put(self, queue: str, messages: Iterable[tuple[str, bytes]]) -> None:
        """Add (id, bytes) at the end of a queue. Raises RedisError."""
        waiting = dict(messages)
        if not waiting:
            return
        with self.client.pipeline(transaction=True) as step:
            step.hset(wire.payloads_key(queue), mapping=dict[Any, Any](waiting))
            step.rpush(wire.list_key(queue), *waiting)
            step.execute()

    def do_enqueue(self, queue_name: str, message_id: str, payload: bytes) -> None:
        """What dramatiq's own `send` ends in."""
        self.put(queue_name, [(message_id, payload)])

    def close(self) -> None:
        self.client.close()


class HintConsumer(Consumer):
    """Takes hints off one queue, never more at once than `prefetch` with those at work. Survives any Redis outage."""

    def __init__(self, broker: HintBroker, queue: str, prefetch: int) -> None:
        self._broker = broker
        self._queue = queue
        self._prefetch = prefetch
        self._hints = broker.hints_of(queue)
        self._fetched: deque[bytes] = deque()
        self._at_work: set[str] = set()
        self._freed = Event()
        self._redis = Outage(log, "redis", queue=queue)

    def __next__(self) -> MessageProxy | None:
        if not self._fetched:
            self._fill()
        while self._fetched:
            if (message := self._read(self._fetched.popleft())) is not None:
                return message
        return None

    def ack(self, message: MessageProxy) -> None:
        self._at_work.discard(message.message_id)
        self._freed.set()

    nack = ack

    def requeue(self, messages: Iterable[MessageProxy]) -> None:
        """Give back what nobody has begun, and what was fetched and not even read."""
        back = [wire.encode(message.args[0]) for message in messages]
        back += [(uuid4().hex, raw) for raw in self._fetched]
        self._fetched.clear()
        try:
            self._broker.put(self._queue, back)
        except RedisError as error:
            log.warning("hints_not_given_back", queue=self._queue, hints=len(back), error=type(error).__name__)

    def _fill(self) -> None:
        self._freed.clear()
        room = self._prefetch - len(self._at_work)
        if room > 0:
            self._fetched.extend(self._fetch(room))
        else:
            self._freed.wait(WAIT_SECONDS)

    def _fetch(self, room: int) -> list[bytes]:
        try:
            found = self._broker.fetch(self._queue, room)
            if not found:
                self._broker.wait(self._queue, WAIT_SECONDS)
        except RedisError as error:
            self._redis.began(error)
            time.sleep(AWAY_SECONDS)
            return []
        self._redis.ended()
        return found

    def _read(self, raw: bytes) -> MessageProxy | None:
        try:
            hint = wire.decode(raw, self._hints)
        except wire.Unreadable as error:
            self._broker.unreadable(self._queue, raw, str(error))
            return None
        message: Message[Any] = Message(self._queue, hint.name, (hint,), {}, {})
        self._at_work.add(message.message_id)
        return MessageProxy(message)
