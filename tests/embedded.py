"""What the tests of the embedded servers share: a process that runs them, and questions about processes."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psycopg
import pytest
import redis

ROOT = Path(__file__).parents[1]
SECRET = "not-for-servers"


@dataclass(frozen=True)
class Child:
    """A process that runs both servers, and what it told about them."""

    process: subprocess.Popen[str]
    database_url: str
    redis_url: str
    pids: list[int]


@contextmanager
def child(folder: Path, thread: str = "main", uid: int = -1) -> Iterator[Child]:
    """Servers in `folder`, owned by another process; it ends with the block if it was not killed in it."""
    python = sys.executable if uid < 0 else readable_python(uid)
    script = ROOT / "tests" / "embedded_child.py"
    command = [sys.executable, "-P", "-B", str(script), str(folder), thread, str(uid), python]
    paths = os.pathsep.join([str(ROOT), *filter(None, sys.path)])
    environment = {**os.environ, "PYTHONPATH": paths, "ANTHROPIC_API_KEY": SECRET}
    with subprocess.Popen(
        command, env=environment, cwd="/", stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        assert line, "the child ended: its error is above"
        told = Child(process, **json.loads(line))
        try:
            yield told
        finally:
            # Only a failed test leaves them; a later one must not meet them.
            if process.poll() is not None and not gone(told.pids, seconds=5):
                for pid in filter(alive, told.pids):
                    os.kill(pid, signal.SIGKILL)


def remember(database_url: str, redis_url: str) -> list[int]:
    """Write down one more row and one more key; how many there are now."""
    with psycopg.connect(database_url) as connection:
        connection.execute("CREATE TABLE IF NOT EXISTS note (id int GENERATED ALWAYS AS IDENTITY)")
        connection.execute("INSERT INTO note DEFAULT VALUES")
        row = connection.execute("SELECT count(*) FROM note").fetchone()
    with redis.Redis.from_url(redis_url) as client:
        return [row[0] if row else 0, int(client.incr("notes"))]


def alive(pid: int | None) -> bool:
    """A zombie is dead; who reaps an orphan, and when, is the machine's affair."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def gone(pids: list[int], seconds: float = 20) -> bool:
    """Wait for all of them to end; whether they did."""
    end = time.monotonic() + seconds
    while any(map(alive, pids)) and time.monotonic() < end:
        time.sleep(0.02)
    return not any(map(alive, pids))


def readable_python(uid: int) -> str:
    """An interpreter of our version that `uid` may read: one below root's home folder is not."""
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    launch = ROOT / "workers" / "runtime" / "embedded" / "launch.py"
    base = getattr(sys, "_base_executable", sys.executable)
    for python in (sys.executable, base, f"/usr/bin/{version}", f"/usr/local/bin/{version}"):
        if _can(uid, [python, "-I", "-S", str(launch), "0", "0", "self", "0", "0", "/bin/sh", "-c", "true"]):
            return python
    pytest.skip(f"no {version} that another user may read, or the checkout is closed to others")


def _can(uid: int, command: list[str]) -> bool:
    try:
        subprocess.run(command, user=uid, group=uid, extra_groups=[], cwd="/", env={}, check=True)
    except (OSError, subprocess.CalledProcessError):
        return False
    return True
