"""Servers that outlived the process that started them, found by the folder they work in.

A pid in a file says little: after a crash it may belong to anyone. A process of the right name whose current
folder is the server's own is the server.
"""

import os
import subprocess
import time
from pathlib import Path

from workers.runtime.embedded.errors import ServerStillRunning

PROC = Path("/proc")


def end_leftover(program: str, folder: Path, pid_file: Path, stop_signal: int, patience: float = 20.0) -> None:
    """Stop what an earlier run left in `folder` and wait until it is gone.

    It is ended rather than taken over: a server that was tied to a dead parent is about to stop by itself,
    and one that is not tied would outlive the new parent as well.
    """
    end = time.monotonic() + patience
    signalled: set[int] = set()
    while pids := running_in(program, folder, pid_file):
        if time.monotonic() > end:
            raise ServerStillRunning(program, folder, pids)
        for pid in _heads(pids) - signalled:
            _signal(pid, stop_signal)
            signalled.add(pid)
        time.sleep(0.02)


def running_in(program: str, folder: Path, pid_file: Path) -> list[int]:
    """The living processes called `program` whose current folder is `folder`."""
    if not folder.exists():
        return []
    if not (PROC / "self").exists():
        return _named_in_pid_file(program, pid_file)
    return [int(entry.name) for entry in PROC.iterdir() if entry.name.isdigit() and _is(entry, program, folder)]


def _is(entry: Path, program: str, folder: Path) -> bool:
    try:
        return (entry / "comm").read_text().strip() == program and (entry / "cwd").samefile(folder)
    except OSError:
        return False  # ended meanwhile, a zombie, or another user's


def _heads(pids: list[int]) -> set[int]:
    """Those whose parent is not one of them: the postmaster, not its backends."""
    return {pid for pid in pids if _parent(pid) not in pids}


def _parent(pid: int) -> int:
    try:
        return int((PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()[1])
    except OSError:
        return 0


def _signal(pid: int, number: int) -> None:
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return


def _named_in_pid_file(program: str, pid_file: Path) -> list[int]:
    """Without /proc (macOS) there is the pid file; the name tells a stranger that took the number."""
    try:
        pid = int(pid_file.read_text().split()[0])
    except (OSError, ValueError, IndexError):
        return []
    command = ["/bin/ps", "-o", "comm=", "-p", str(pid)]
    shown = subprocess.run(command, capture_output=True, text=True, check=False).stdout  # noqa: S603
    return [pid] if Path(shown.strip()).name == program else []
