"""A job in a process of its own: should it kill that too, nobody else is hurt, and it is plain whose doing it was."""

import asyncio
import subprocess
import sys
from collections.abc import Awaitable, Callable
from contextlib import suppress
from itertools import count

from schemas.errors import Unavailable
from schemas.jobs import AutoReply
from workers.runtime.logging import logger

log = logger(__name__)

PROGRAM = "workers.alone"
AT_ONCE = 4
"""Each is a whole worker, of some 100 MB."""
LONGEST_SECONDS = 900.0
"""Longer than any run may work: what is still there hangs."""
LOOK_SECONDS = 0.2
END_SECONDS = 10.0

Release = Callable[[str], Awaitable[int]]
"""Gives back at once what a dead process had in hand."""


class OwnProcesses:
    """They are called `instance.a1`, `instance.a2`, …: whoever releases `instance` releases them too."""

    def __init__(self, instance: str, release: Release) -> None:
        self._instance = instance
        self._release = release
        self._names = count(1)
        self._running = 0

    @property
    def full(self) -> bool:
        return self._running >= AT_ONCE

    async def run(self, hint: AutoReply) -> None:
        """Until it has ended; a stop is passed on, so that the job is given back."""
        name = f"{self._instance}.a{next(self._names)}"
        self._running += 1
        try:
            code = await _ended(_start(name, hint))
        finally:
            self._running -= 1
        if code != 0:
            log.error("worker_died", instance=name, code=code, job=hint.job)
            with suppress(Unavailable):  # then its lease runs out
                await self._release(name)


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
