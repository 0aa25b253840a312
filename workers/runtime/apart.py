"""A job in a process of its own: should it kill that too, nobody else is hurt, and it is plain whose doing it was."""

import asyncio
import subprocess
import sys
from contextlib import suppress
from itertools import count
from typing import Protocol

from schemas.errors import Unavailable
from schemas.jobs import AutoReply
from workers.runtime.logging import logger

log = logger(__name__)

PROGRAM = "workers.alone"
AT_ONCE = 2
"""Each is a whole worker, of some 100 MB."""
LONGEST_SECONDS = 900.0
"""Longer than any run may work: what is still there hangs."""
LOOK_SECONDS = 0.2
END_SECONDS = 10.0


class Rows(Protocol):
    async def expect(self, hint: AutoReply) -> None: ...
    async def release(self, instance: str) -> int: ...


class OwnProcesses:
    """They are called `instance.a1`, `instance.a2`, …: whoever releases `instance` releases them too."""

    def __init__(self, instance: str, rows: Rows) -> None:
        self._instance = instance
        self._rows = rows
        self._names = count(1)
        self._running: set[int] = set()

    async def run(self, hint: AutoReply) -> bool:
        """Until it has ended; a stop is passed on, so that the job is given back. False: no process can be had now."""
        if hint.job in self._running:
            return True  # the hint came twice
        if len(self._running) >= AT_ONCE:
            return False
        self._running.add(hint.job)
        try:
            await self._rows.expect(hint)
            await self._run(hint)
        finally:
            self._running.discard(hint.job)
        return True

    async def _run(self, hint: AutoReply) -> None:
        name = f"{self._instance}.a{next(self._names)}"
        log.warning("runs_alone", instance=name, job=hint.job)
        code = await _ended(_start(name, hint))
        if code != 0:
            log.error("worker_died", instance=name, code=code, job=hint.job)
            with suppress(Unavailable):  # then its lease runs out
                await self._rows.release(name)


def _start(name: str, hint: AutoReply) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", PROGRAM, name, str(hint.job), str(hint.conversation)]
    return subprocess.Popen(command, stdin=subprocess.DEVNULL)  # noqa: S603


async def _ended(process: subprocess.Popen[bytes]) -> int:
    """Its exit code. It is not left behind, whatever ends the wait."""
    try:
        async with asyncio.timeout(LONGEST_SECONDS):
            while (code := process.poll()) is None:  # noqa: ASYNC110  (a process sets no event)
                await asyncio.sleep(LOOK_SECONDS)
            return code
    except TimeoutError:
        log.error("worker_hangs", pid=process.pid)
    finally:
        if process.poll() is None:
            await asyncio.to_thread(_end, process)
    return process.returncode


def _end(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(END_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
