"""A process that only looks alive is found out."""

import time
from collections.abc import Iterator
from threading import Event

import pytest

from schemas.jobs import AutoReply
from workers.runtime.broker import HintBroker
from workers.runtime.loop import EventLoop
from workers.runtime.watchdog import Watchdog
from workers.runtime.worker import HintWorker


@pytest.fixture
def loop() -> Iterator[EventLoop]:
    running = EventLoop()
    running.start()
    yield running
    if running.alive:
        running.stop()


@pytest.fixture
def worker() -> Iterator[HintWorker]:
    """Its Redis is never there; that is no reason to die."""
    broker = HintBroker("unix:///nowhere/redis.sock", [AutoReply], lambda *_: None)
    broker.declare_queue("reply")
    running = HintWorker(broker, ["reply"], threads=2)
    running.start()
    yield running
    running.stop_fetching()
    running.finish(5)
    broker.close()


def test_a_process_without_redis_is_well(loop: EventLoop, worker: HintWorker) -> None:
    watchdog = Watchdog(loop, worker, silent_seconds=5)
    time.sleep(0.3)

    assert (watchdog.loop_dead(), watchdog.worker_dead()) == (None, None)


def test_a_dead_consumer_and_a_dead_thread_are_named(loop: EventLoop, worker: HintWorker) -> None:
    watchdog = Watchdog(loop, worker, silent_seconds=5)

    worker.workers[0].stop()
    while worker.workers[0].is_alive():
        worker._wake_idle_threads()
        worker.workers[0].join(0.05)
    thread = watchdog.worker_dead()
    worker.consumers["reply"].stop()
    worker.consumers["reply"].join(5)

    assert (thread, watchdog.worker_dead()) == ("1 of 2 threads have died", "the consumer of reply has died")


def test_a_loop_that_ended_or_stands_still_is_dead(
    loop: EventLoop, worker: HintWorker, capfd: pytest.CaptureFixture[str]
) -> None:
    began = Event()

    async def block() -> None:
        began.set()
        time.sleep(0.6)

    watchdog = Watchdog(loop, worker, silent_seconds=0.2)
    loop.submit(block())
    began.wait()
    asked = watchdog.loop_dead()
    time.sleep(0.3)
    blocked = watchdog.loop_dead()
    loop.stop()

    assert asked is None
    assert (blocked, watchdog.loop_dead()) == ("the event loop has not turned for 0 s", "the event loop has ended")
    assert "in block" in capfd.readouterr().err
