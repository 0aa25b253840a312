"""Notices that a process looks alive and does nothing: a dead consumer thread, a dead or blocked event loop."""

import faulthandler
import sys

from workers.runtime.loop import EventLoop
from workers.runtime.worker import HintWorker


class Watchdog:
    """`silent_seconds`: a loop that has not turned for so long is blocked for good; its leases are over by then."""

    def __init__(self, loop: EventLoop, worker: HintWorker, silent_seconds: float) -> None:
        self._loop = loop
        self._worker = worker
        self._limit = silent_seconds

    def loop_dead(self) -> str | None:
        """The loop cannot be asked to stop any more: the process has to go at once."""
        if not self._loop.alive:
            return "the event loop has ended"
        silent = self._loop.silent_seconds
        if silent > self._limit:
            faulthandler.dump_traceback(file=sys.stderr, all_threads=True)
            return f"the event loop has not turned for {silent:.0f} s"
        return None

    def worker_dead(self) -> str | None:
        """The rest still works: drain, then go."""
        return self._worker.broken
