"""The one event loop: run in a thread, watched from another."""

import asyncio
import time
from collections.abc import Iterator
from concurrent.futures import CancelledError, ThreadPoolExecutor
from threading import Event

import pytest

from workers.runtime.loop import EventLoop


@pytest.fixture
def loop() -> Iterator[EventLoop]:
    running = EventLoop()
    running.start()
    yield running
    running.stop()


async def double(number: int) -> int:
    await asyncio.sleep(0)
    return number * 2


def test_threads_wait_for_its_answers(loop: EventLoop) -> None:
    with ThreadPoolExecutor(8) as threads:
        answers = list(threads.map(lambda number: loop.run(double(number)), range(50)))

    assert answers == [number * 2 for number in range(50)]


def test_what_runs_can_be_cancelled(loop: EventLoop) -> None:
    future = loop.submit(asyncio.sleep(60))
    while loop.cancel_jobs() == 0:
        time.sleep(0.001)

    with pytest.raises(CancelledError):
        future.result(5)


def test_a_blocked_loop_is_noticed_and_a_living_one_is_not(loop: EventLoop) -> None:
    _block(loop, 0.3)
    blocked = [loop.silent_seconds, time.sleep(0.2), loop.silent_seconds][2]
    time.sleep(0.3)
    turning = [loop.silent_seconds, time.sleep(0.05), loop.silent_seconds][2]

    assert blocked is not None
    assert blocked > 0.1
    assert turning is not None
    assert turning < 0.1


def test_time_in_which_nobody_looked_is_not_the_loops_silence(loop: EventLoop) -> None:
    time.sleep(1.2)  # a slow start
    _block(loop, 1.4)
    first = loop.silent_seconds
    time.sleep(1.2)  # a process that stands still cannot look
    looked_late = loop.silent_seconds

    assert (first, looked_late) == (0.0, 1.0)


def _block(loop: EventLoop, seconds: float) -> None:
    """Answers once the loop stands still."""
    began = Event()

    async def stand_still() -> None:
        began.set()
        time.sleep(seconds)

    loop.submit(stand_still())
    began.wait()


def test_a_stopped_loop_is_dead() -> None:
    running = EventLoop()
    running.start()
    assert running.alive
    left = running.submit(asyncio.sleep(60))

    running.stop()

    assert not running.alive
    assert left.cancelled()
