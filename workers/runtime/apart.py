"""A job in a process of its own: should it kill that too, nobody else is hurt, and it is plain whose doing it was."""

import asyncio
import subprocess
import sys
from collections.abc import Awaitable, Callable
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
ASK_SECONDS = 2.0
IDLE_SECONDS = 30.0
"""How long it may be without its job: it starts in less, and ends in less. Then the job has been taken from it, and it
does not notice: it hangs, or its loop is blocked."""
END_SECONDS = 10.0


class Rows(Protocol):
    async def expect(self, hint: AutoReply) -> None: ...
    async def release(self, instance: str) -> int: ...
    async def holds(self, instance: str, hint: AutoReply) -> bool: ...


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
        code = await _ended(_start(name, hint), lambda: self._rows.holds(name, hint))
        if code != 0:
            log.error("worker_died", instance=name, code=code, job=hint.job)
            with suppress(Unavailable):  # then its lease runs out
                await self._rows.release(name)


def _start(name: str, hint: AutoReply) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", PROGRAM, name, str(hint.job), str(hint.conversation)]
    return subprocess.Popen(command, stdin=subprocess.DEVNULL)  # noqa: S603


async def _ended(process: subprocess.Popen[bytes], holds: Callable[[], Awaitable[bool]]) -> int:
    """Its exit code. It is not left behind, whatever ends the wait."""
    useless = asyncio.create_task(_without_its_job(holds))
    try:
        async with asyncio.timeout(LONGEST_SECONDS):
            while (code := process.poll()) is None and not useless.done():
                await asyncio.wait([useless], timeout=LOOK_SECONDS)
            if code is not None:
                return code
    except TimeoutError:
        pass
    finally:
        useless.cancel()
        if process.poll() is None:
            log.error("worker_hangs", pid=process.pid)
            await asyncio.to_thread(_end, process)
    return process.returncode


async def _without_its_job(holds: Callable[[], Awaitable[bool]]) -> None:
    """Returns once the job has not been in its hands for too long. A database that is away says nothing."""
    idle = 0.0
    while idle < IDLE_SECONDS:
        await asyncio.sleep(ASK_SECONDS)
        with suppress(Unavailable):
            idle = 0.0 if await holds() else idle + ASK_SECONDS


def _end(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(END_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
