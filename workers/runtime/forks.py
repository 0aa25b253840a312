"""Several worker processes out of one: fork after import, so that they share its memory; put back who died."""

import gc
import os
import signal
import time
from collections.abc import Callable
from secrets import token_hex
from socket import gethostname

from workers.runtime.logging import logger
from workers.runtime.stopping import Stop

log = logger(__name__)

Child = Callable[[str, str | None], int]
"""Runs one process to its end: its own name, the name of the dead one it replaces. Answers the exit code."""

LOOK_SECONDS = 0.2
QUICK_DEATH_SECONDS = 5.0
LONGEST_WAIT_SECONDS = 30.0


def process_name(given: str | None) -> str:
    """What a process calls itself on its leases: a name nobody else has, unless one was given."""
    return given or f"{gethostname()[:32]}-{os.getpid()}-{token_hex(3)}"


class Forks:
    """Keeps `count` children running until a stop is asked for. One that dies at once is put back later and later."""

    def __init__(self, count: int, child: Child, name: str, stop: Stop) -> None:
        self._count = count
        self._child = child
        self._name = name
        self._stop = stop
        self._spawned = 0
        self._running: dict[int, tuple[str, float]] = {}
        self._quick_deaths = 0

    def run(self, drain_seconds: float) -> int:
        gc.collect()
        gc.freeze()
        for _ in range(self._count):
            self._spawn(None)
        while not self._stop.wait(LOOK_SECONDS):
            for pid, code in self._ended():
                self._replace(pid, code)
        return self._finish(drain_seconds)

    def _spawn(self, replaces: str | None) -> None:
        self._spawned += 1
        name = f"{self._name}.{self._spawned}"
        pid = os.fork()
        if pid == 0:
            _become(self._child, name, replaces)
        self._running[pid] = (name, time.monotonic())

    def _replace(self, pid: int, code: int) -> None:
        name, began = self._running.pop(pid)
        lived = time.monotonic() - began
        self._quick_deaths = self._quick_deaths + 1 if lived < QUICK_DEATH_SECONDS else 0
        log.error("worker_died", instance=name, code=code, seconds=round(lived, 1))
        if self._quick_deaths:
            self._pause(min(2.0 ** (self._quick_deaths - 1), LONGEST_WAIT_SECONDS))
        if not self._stop.asked:
            self._spawn(replaces=name)

    def _pause(self, seconds: float) -> None:
        """In short steps: a signal must not wait for the whole of it."""
        end = time.monotonic() + seconds
        while time.monotonic() < end and not self._stop.wait(LOOK_SECONDS):
            pass

    def _ended(self) -> list[tuple[int, int]]:
        found = []
        for pid in list(self._running):
            done, status = os.waitpid(pid, os.WNOHANG)
            if done:
                found.append((pid, os.waitstatus_to_exitcode(status)))
        return found

    def _finish(self, drain_seconds: float) -> int:
        """Pass the stop on; who has not gone well after the drain is killed. 0 when all went well."""
        for pid in self._running:
            os.kill(pid, signal.SIGTERM)
        deadline = time.monotonic() + drain_seconds + 15
        codes: list[int] = []
        while self._running and time.monotonic() < deadline:
            for pid, code in self._ended():
                del self._running[pid]
                codes.append(code)
            time.sleep(LOOK_SECONDS / 4)
        for pid in self._running:
            log.error("worker_killed", instance=self._running[pid][0])
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            codes.append(1)
        return 1 if any(codes) else 0


def _become(child: Child, name: str, replaces: str | None) -> None:
    code = 1
    try:
        code = child(name, replaces)
    except BaseException:
        log.exception("worker_fault", instance=name)
    finally:
        os._exit(code)
