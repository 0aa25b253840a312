"""The folder of one installation: its lock, its key, its logs."""

import fcntl
import os
import secrets
from pathlib import Path
from types import TracebackType
from typing import IO, Self

from workers.cli import connection
from workers.cli.connection import Connection
from workers.cli.failures import CommandFailed, FolderTaken


class Folder:
    """Claimed while the block lasts; the lock is the kernel's, so it goes with a holder that was killed."""

    def __init__(self, path: Path) -> None:
        self.path = path.absolute()
        self.logs = self.path / "logs"
        self.files = self.path / "files"
        self._lock: IO[str] | None = None

    def __enter__(self) -> Self:
        try:
            self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
            self.path.chmod(0o711)  # a server that runs as another user finds its own, closed folder below
            self.logs.mkdir(mode=0o700, exist_ok=True)
            self._lock = (self.path / "lock").open("a+")
        except OSError as error:
            raise CommandFailed(f"{self.path} cannot be used: {error.strerror}") from error
        self._claim(self._lock)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, t: TracebackType | None) -> None:
        if self._lock is not None:
            self._lock.close()

    def _claim(self, lock: IO[str]) -> None:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            lock.seek(0)
            holder = lock.read().strip() or "unknown"
            lock.close()
            raise FolderTaken(self.path, holder) from None
        lock.truncate(0)
        lock.write(f"{os.getpid()}\n")
        lock.flush()

    def key(self, given: str | None) -> str:
        """The key of this installation's administrator: the one named, else the one kept, else a new one."""
        kept = connection.read(self.path)
        return given or (kept.key if kept else f"rq_{secrets.token_urlsafe(32)}")

    def keep(self, found: Connection) -> None:
        connection.write(self.path, found)
