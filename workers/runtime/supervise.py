"""Keeps the processes of one machine alive: starts them, files what they say, restarts what died, stops all in order.

Runs in the main thread, because the kernel ties a child to the *thread* that started it. Nothing here knows what the
children do: the caller says which command each is, and how the leases of a dead one are given back.
"""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from workers.runtime.embedded.process import LAUNCH, Identity

LOG_BYTES = 16 * 1024 * 1024
STEADY_SECONDS = 30.0
"""A child that lived this long was not failing to start: its next restart comes at once again."""
RESTART_SECONDS = (0.1, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0)
"""The wait before each restart of a child that dies young."""
LOOK_SECONDS = 0.1


@dataclass(frozen=True)
class Program:
    """A command to keep running. `leaves_last`: others still need it while they stop."""

    name: str
    command: tuple[str, ...]
    environment: Mapping[str, str]
    leaves_last: bool = False


class Child:
    """One program, and the process that runs it now. Each start has an instance name of its own for its leases."""

    def __init__(self, program: Program, log: Path) -> None:
        self.program = program
        self.log = log
        self.starts = 0
        self.young_deaths = 0
        self.last_code: int | None = None
        self.start_at = 0.0
        self._started_at = 0.0
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def instance(self) -> str:
        return f"{self.program.name}-{os.getpid()}-{self.starts}"

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process is not None else None

    @property
    def running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def start(self) -> None:
        self.starts += 1
        self._started_at = time.monotonic()
        environment = {**self.program.environment, "REPLIQUE_INSTANCE": self.instance}
        with self.log.open("ab") as output:
            self._process = subprocess.Popen(  # noqa: S603
                _tied(self.program.command), env=environment, stdin=subprocess.DEVNULL,
                stdout=output, stderr=output, start_new_session=True,
            )  # fmt: skip

    def ended(self) -> int | None:
        """The exit code of a process that is gone since the last look (negative: the signal), told once."""
        if self._process is None or (code := self._process.poll()) is None:
            return None
        self._process, self.last_code = None, code
        lived = time.monotonic() - self._started_at
        self.young_deaths = 0 if lived >= STEADY_SECONDS else self.young_deaths + 1
        step = min(self.young_deaths, len(RESTART_SECONDS)) - 1
        self.start_at = time.monotonic() + (RESTART_SECONDS[step] if step >= 0 else 0.0)
        return code

    @property
    def due(self) -> bool:
        return self._process is None and time.monotonic() >= self.start_at

    def send(self, number: signal.Signals) -> None:
        if self._process is not None:
            self._process.send_signal(number)

    def trim(self) -> None:
        """Keep the log from growing for ever. It is opened for appending, so the child writes on from the start."""
        if self.log.stat().st_size > LOG_BYTES:
            self.log.with_suffix(".log.old").write_bytes(self.log.read_bytes())
            os.truncate(self.log, 0)

    def last_lines(self, count: int = 12) -> str:
        text = self.log.read_text(errors="replace")[-8_000:] if self.log.exists() else ""
        return "\n".join(text.splitlines()[-count:]) or "(nothing was written)"


class Supervisor:
    """`release` gives back what a dead instance had leased; `revive` restarts servers that died and names them.

    Neither may raise. `report` is told in a sentence what happened.
    """

    def __init__(
        self,
        programs: Sequence[Program],
        logs: Path,
        release: Callable[[str], None],
        report: Callable[[str], None],
        revive: Callable[[], Sequence[str]] = tuple,
        grace_seconds: float = 30.0,
    ) -> None:
        self._children = {program.name: Child(program, logs / f"{program.name}.log") for program in programs}
        self._release = release
        self._report = report
        self._revive = revive
        self._grace_seconds = grace_seconds
        self._signals = 0

    def child(self, name: str) -> Child:
        return self._children[name]

    @property
    def children(self) -> tuple[Child, ...]:
        return tuple(self._children.values())

    @property
    def asked_to_stop(self) -> bool:
        return self._signals > 0

    def listen(self) -> None:
        """SIGTERM, SIGINT and SIGHUP ask for the end; a second one no longer waits for drains."""
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, self._heard)

    def start(self) -> None:
        for child in self.children:
            child.start()

    def look(self) -> None:
        """One look at everything: revive servers first, a child that needs them would only die again."""
        for server in self._revive():
            self._report(f"{server} had died and was started again")
        for child in self.children:
            if (code := child.ended()) is not None:
                self._report(f"{child.program.name} {_how(code)}; it is started again. Its log: {child.log}")
                self._release(child.instance)
            if child.due:
                child.start()
            child.trim()

    def run(self, done: Callable[[], bool] = lambda: False) -> None:
        """Look until `done` or a signal."""
        while not (self.asked_to_stop or done()):
            self.look()
            time.sleep(LOOK_SECONDS)

    def stop(self) -> None:
        """Ask those who drain first, wait, then those they needed."""
        for last in (False, True):
            self._end([child for child in self.children if child.program.leaves_last is last])

    def _end(self, children: Sequence[Child]) -> None:
        heard = self._signals
        end = time.monotonic() + self._grace_seconds
        for child in children:
            child.send(signal.SIGTERM)
        while any(child.running for child in children):
            if time.monotonic() > end or self._signals > max(heard, 1):
                for child in children:
                    child.send(signal.SIGKILL)
            time.sleep(LOOK_SECONDS / 4)

    def _heard(self, _number: int, _frame: object) -> None:
        self._signals += 1


def _tied(command: Sequence[str]) -> list[str]:
    """The command, killed by the kernel when we die.

    Killed rather than asked: when this process is gone, so are the servers a drain would write to.
    """
    facts = (os.getpid(), int(signal.SIGKILL), Identity.SELF, os.geteuid(), os.getegid())
    return [sys.executable, "-I", "-S", str(LAUNCH), *map(str, facts), *command]


def _how(code: int) -> str:
    if code >= 0:
        return f"ended with exit code {code}"
    with suppress(ValueError):
        return f"was ended by {signal.Signals(-code).name}"
    return f"was ended by signal {-code}"
