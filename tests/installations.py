"""`replique` as a person starts it: a process of its own, in a folder of its own, with no setting of the machine."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).parents[1]


def bare_environment() -> dict[str, str]:
    kept = ("PATH", "TMPDIR", "LD_LIBRARY_PATH")
    return {name: os.environ[name] for name in kept if name in os.environ} | {
        "PYTHONPATH": str(ROOT),
        "LANG": "C.UTF-8",
    }


@contextmanager
def replique(*arguments: str, folder: Path, **environment: str) -> Iterator[subprocess.Popen[str]]:
    """Running, with one pipe for all it says; killed at the end when it still runs."""
    with subprocess.Popen(
        [sys.executable, "-m", "workers.cli", *arguments], cwd=folder, env=bare_environment() | environment,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    ) as process:  # fmt: skip
        try:
            yield process
        finally:
            process.kill()


def until(process: subprocess.Popen[str], beginning: str) -> list[str]:
    """What it said up to a line that begins so. Fails when it ends before."""
    assert process.stdout is not None
    said = []
    for line in process.stdout:
        said.append(line.rstrip("\n"))
        if line.startswith(beginning):
            return said
    raise AssertionError(f"ended without {beginning!r}:\n" + "\n".join(said))


def told(*arguments: str, folder: Path) -> tuple[int, str]:
    """Run to its end: exit code, and all it said."""
    done = subprocess.run(
        [sys.executable, "-m", "workers.cli", *arguments], cwd=folder, env=bare_environment(),
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=100, check=False,
    )  # fmt: skip
    return done.returncode, done.stdout


def processes_of(folder: Path) -> list[str]:
    """The command lines of living processes that name the folder."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                command = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
                environment = (entry / "environ").read_bytes().decode(errors="replace")
            except OSError:
                continue
            if str(folder) in command + environment:
                found.append(command)
    return found
