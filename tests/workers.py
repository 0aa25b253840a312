"""A worker in the test's own process: real Redis, real broker, real threads, whatever app it is given."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from redis import Redis

from schemas.jobs import Hint, Queue
from schemas.settings import Settings
from workers.bootstrap import App
from workers.main import drain, start_worker
from workers.runtime import wire
from workers.runtime.broker import HintBroker
from workers.runtime.loop import EventLoop
from workers.runtime.worker import HintWorker


@dataclass
class Running:
    worker: HintWorker
    broker: HintBroker
    loop: EventLoop


@contextmanager
def running(redis_url: str, app: App, *queues: Queue, threads: int = 4, drain_seconds: float = 5) -> Iterator[Running]:
    loop = EventLoop()
    loop.start()
    settings = Settings.model_validate({"redis_url": redis_url})
    broker, worker = start_worker(settings, queues or (Queue.REPLY,), threads, loop, app)
    try:
        yield Running(worker, broker, loop)
    finally:
        assert drain(worker, loop, drain_seconds) == 0
        loop.stop()
        broker.close()


def until(true: Callable[[], object], seconds: float = 10) -> None:
    deadline = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.01)


def send(redis_url: str, *hints: Hint) -> None:
    for hint in hints:
        message_id, message = wire.encode(hint)
        send_raw(redis_url, hint.queue, message, message_id)


def send_raw(redis_url: str, queue: str, message: bytes, message_id: str = "m1") -> None:
    with Redis.from_url(redis_url) as redis:
        redis.hset(wire.payloads_key(queue), message_id, message)
        redis.rpush(wire.list_key(queue), message_id)


def keys(redis_url: str) -> list[bytes]:
    with Redis.from_url(redis_url) as redis:
        return redis.keys("*")
