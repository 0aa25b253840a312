"""The folder of one server: its lock, its log, and a place for its socket that is short enough."""

import fcntl
import hashlib
import os
import stat
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import IO

from workers.runtime.embedded.errors import FolderInUse, FolderUnusable

SOCKET_PATH_BYTES = 103  # what fits sun_path with its closing zero: 107 on Linux, 103 on macOS
LOG_BYTES = 4 * 1024 * 1024


class ServerFolder:
    """One folder, at most one server: the lock is the kernel's, so it goes with a holder that was killed."""

    def __init__(self, path: Path, socket_name: str, owner: int) -> None:
        self.path = path.resolve()
        self.log = self.path / "server.log"
        self._socket_name = socket_name
        self._owner = owner
        self._lock: IO[str] | None = None

    @property
    def socket(self) -> Path:
        return self.socket_folder / self._socket_name

    @property
    def socket_folder(self) -> Path:
        """The folder itself, or one in the temporary folder that only depends on its path."""
        name = "replique-" + hashlib.sha256(os.fsencode(self.path)).hexdigest()[:16]
        for folder in (self.path, Path(tempfile.gettempdir()) / name):
            if len(os.fsencode(folder / self._socket_name)) <= SOCKET_PATH_BYTES:
                return folder
        return Path("/tmp") / name  # noqa: S108 - checked by `claim`

    def claim(self) -> None:
        """Make the folders, closed to others, and lock them. FolderInUse while another claim lives."""
        if self._lock is not None:
            return
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            for folder in {self.path, self.socket_folder}:
                self._make_private(folder)
            self._lock = self._locked()
            if self.log.exists() and self.log.stat().st_size > LOG_BYTES:
                self.log.replace(self.log.with_suffix(".log.old"))
        except OSError as error:
            raise FolderUnusable(self.path, error.strerror or type(error).__name__) from error

    def release(self) -> None:
        if self._lock is not None:
            if self.socket_folder != self.path:
                with suppress(OSError):
                    self.socket_folder.rmdir()
            self._lock.close()
            self._lock = None

    def last_lines(self, count: int = 12) -> str:
        if not self.log.exists():
            return "(nothing was written)"
        text = self.log.read_text(errors="replace")[-8_000:]
        return "\n".join(text.splitlines()[-count:])

    def _make_private(self, folder: Path) -> None:
        try:
            folder.mkdir(mode=0o700)
            os.chown(folder, self._owner, -1)
        except FileExistsError:
            found = folder.lstat()
            if not stat.S_ISDIR(found.st_mode) or found.st_uid not in {os.geteuid(), self._owner}:
                raise FolderUnusable(folder, "it is not a folder of ours") from None
            folder.chmod(0o700)
            os.chown(folder, self._owner, -1)

    def _locked(self) -> IO[str]:
        lock = (self.path / "lock").open("a+")
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            lock.seek(0)
            holder = lock.read().strip() or "unknown"
            lock.close()
            raise FolderInUse(self.path, holder) from None
        lock.truncate(0)
        lock.write(f"{os.getpid()}\n")
        lock.flush()
        return lock
