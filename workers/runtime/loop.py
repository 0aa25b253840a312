"""The one event loop of a worker process, in a thread of its own. Start it after a fork.

Actors run in threads and wait here on a plain future: a thousand of them cost nothing while models think.
"""

import asyncio
import time
from collections.abc import Coroutine
from concurrent.futures import Future
from threading import Event, Thread
from typing import Any, TypeVar

T = TypeVar("T")

LONGEST_LOOK = 1.0
"""Seconds of silence that one look can add."""


def new_event_loop() -> asyncio.AbstractEventLoop:
    try:
        import uvloop  # noqa: PLC0415  (there is none on some systems)
    except ImportError:
        return asyncio.new_event_loop()
    return uvloop.new_event_loop()


class EventLoop:
    def __init__(self) -> None:
        self._loop = new_event_loop()
        self._jobs: set[asyncio.Task[Any]] = set()
        self._owing = False
        self._looked, self._silent = time.monotonic(), 0.0
        self._ready = Event()
        self._thread = Thread(target=self._turn, name="event-loop", daemon=True)

    def start(self) -> None:
        self._thread.start()
        self._ready.wait()

    def submit(self, work: Coroutine[Any, Any, T]) -> "Future[T]":
        """Begin a job; `cancel_jobs` reaches it."""
        return asyncio.run_coroutine_threadsafe(self._as_job(work), self._loop)

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Wait in the calling thread, without polling. Raises what the work raises."""
        return self.submit(work).result()

    def cancel_jobs(self) -> int:
        """Cancel every job that runs. Answers how many were told."""

        async def cancel() -> int:
            told = list(self._jobs)
            for task in told:
                task.cancel()
            return len(told)

        return asyncio.run_coroutine_threadsafe(cancel(), self._loop).result()

    @property
    def silent_seconds(self) -> float:
        """How long the loop owes a sign of life: each look asks for one. Time in which nobody looked (a slow start, a
        process that was stopped, a machine that slept) says nothing of the loop, and counts a second at most."""
        now = time.monotonic()
        self._silent = self._silent + min(now - self._looked, LONGEST_LOOK) if self._owing else 0.0
        self._looked = now
        if not self._owing and self._thread.is_alive():
            self._owing = True
            self._loop.call_soon_threadsafe(self._mark)
        return self._silent

    @property
    def alive(self) -> bool:
        return self._thread.is_alive()

    def stop(self) -> None:
        """Cancel what is left, then end the thread."""
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)

    def _mark(self) -> None:
        self._owing = False

    async def _as_job(self, work: Coroutine[Any, Any, T]) -> T:
        task = asyncio.current_task()
        if task is not None:
            self._jobs.add(task)
            task.add_done_callback(self._jobs.discard)
        return await work

    def _turn(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.call_soon(self._ready.set)
        try:
            self._loop.run_forever()
        finally:
            left = asyncio.all_tasks(self._loop)
            for task in left:
                task.cancel()
            self._loop.run_until_complete(asyncio.gather(*left, return_exceptions=True))
            self._loop.run_until_complete(self._loop.shutdown_asyncgens())
            self._loop.close()
