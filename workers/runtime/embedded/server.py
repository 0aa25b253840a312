"""What the two embedded servers share: claim the folder, clear up, start, wait for an answer, stop."""

import subprocess
import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import ClassVar, Self

from workers.runtime.embedded import process
from workers.runtime.embedded.errors import ServerDidNotStart
from workers.runtime.embedded.folder import ServerFolder
from workers.runtime.embedded.leftover import end_leftover


class EmbeddedServer(ABC):
    """A server in a folder. `start` and `stop` may be called again and again; both block."""

    program: ClassVar[str]
    socket_name: ClassVar[str]
    stop_signal: ClassVar[int]
    start_seconds: ClassVar[float] = 60.0  # recovery after a crash replays up to a gigabyte of log

    def __init__(self, folder: Path, who: process.Account) -> None:
        self._who = who
        self._folder = ServerFolder(folder, self.socket_name, who.owner)
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process is not None else None

    def start(self) -> Self:
        """Start, or start again after a crash; nothing to do while it runs. Raises an EmbeddedServerError."""
        if self.running:
            return self
        self._folder.claim()
        try:
            end_leftover(self.program, self._working_folder(), self._pid_file(), self.stop_signal)
            self._prepare()
            self._process = process.spawn(self._command(), self._who, self.stop_signal, self._folder.log)
            self._wait()
            self._first_use()
        except BaseException:
            self.stop()
            raise
        return self

    def stop(self) -> None:
        """Stop it cleanly and let the folder go."""
        if self._process is not None:
            process.stop(self._process, self.stop_signal)
            self._process = None
        self._folder.release()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _wait(self) -> None:
        end = time.monotonic() + self.start_seconds
        while not self._answers():
            if not self.running:
                raise self._did_not_start("ended at once")
            if time.monotonic() > end:
                raise self._did_not_start(f"did not answer within {self.start_seconds:.0f} s")
            time.sleep(0.01)

    def _did_not_start(self, reason: str) -> ServerDidNotStart:
        return ServerDidNotStart(self.program, reason, self._folder.last_lines())

    @abstractmethod
    def _working_folder(self) -> Path:
        """Where the server's processes have their current folder."""

    @abstractmethod
    def _pid_file(self) -> Path:
        """Where the server writes its process id."""

    @abstractmethod
    def _prepare(self) -> None:
        """Make what must exist before the server starts, remove what a killed one left."""

    @abstractmethod
    def _command(self) -> Sequence[str]: ...

    @abstractmethod
    def _answers(self) -> bool: ...

    def _first_use(self) -> None:
        """What is left to do once it answers."""
        return
