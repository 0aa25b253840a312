"""A server process that leaves with the process that started it, under a user the server accepts."""

import os
import pwd
import signal
import subprocess
import sys
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

LAUNCH = Path(__file__).with_name("launch.py")
# Servers need nothing else of ours, least of all the keys of model providers.
KEPT_ENVIRONMENT = ("PATH", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "TMPDIR")
PATIENCE_SECONDS = {"asked": 20.0, "told": 5.0}


class Identity(StrEnum):
    """Whom the server runs as. PostgreSQL refuses root, and users without an entry in the password file."""

    SELF = "self"
    NAMESPACE = "namespace"  # looks like nobody to itself, owns our files for the kernel
    NOBODY = "nobody"  # is nobody: where a container refuses user namespaces


@dataclass(frozen=True)
class Account:
    """An identity with the ids it has inside."""

    identity: Identity
    uid: int
    gid: int

    @property
    def owner(self) -> int:
        """The uid that owns the server's files, seen from here."""
        return self.uid if self.identity is Identity.NOBODY else os.geteuid()


def account(identity: Identity) -> Account:
    """Fill in ids: ours, or those of the first harmless user the password file knows."""
    if identity is Identity.SELF:
        return Account(identity, os.geteuid(), os.getegid())
    known = [entry for entry in pwd.getpwall() if entry.pw_uid != 0]
    entry = next((entry for entry in known if entry.pw_name == "nobody"), known[0])
    return Account(identity, entry.pw_uid, entry.pw_gid)


def choose_account(kept: Path, probe: Sequence[str]) -> Account:
    """The account for a server that keeps its files in `kept`; `probe` is a command that ends at once."""
    if os.geteuid() != 0 and _in_password_file(os.geteuid()):
        return account(Identity.SELF)
    nobody = account(Identity.NOBODY)
    if kept.exists() and kept.stat().st_uid == nobody.uid != os.geteuid():
        return nobody  # made by an earlier run where namespaces were refused
    namespace = account(Identity.NAMESPACE)
    if run(probe, namespace).returncode == 0:
        return namespace
    return nobody if os.geteuid() == 0 else account(Identity.SELF)


def _in_password_file(uid: int) -> bool:
    try:
        pwd.getpwuid(uid)
    except KeyError:
        return False
    return True


def run(command: Sequence[str], who: Account) -> subprocess.CompletedProcess[str]:
    """Run a program of the server's to its end, as `who`; the caller looks at the exit code."""
    return subprocess.run(  # noqa: S603
        _launcher(command, who, 0), cwd="/", env=_environment(), stdin=subprocess.DEVNULL,
        capture_output=True, text=True, errors="replace", check=False,
    )  # fmt: skip


def spawn(command: Sequence[str], who: Account, stop_signal: int, log: Path) -> subprocess.Popen[bytes]:
    """Start a server that gets `stop_signal` when we die, in a session of its own: Ctrl-C is ours to handle.

    The kernel watches the *thread* that starts a process, so from any other thread than the main one the
    server is left untied; the next start in its folder ends it.
    """
    tied = threading.current_thread() is threading.main_thread()
    with log.open("ab") as output:
        return subprocess.Popen(  # noqa: S603
            _launcher(command, who, stop_signal if tied else 0), cwd="/", env=_environment(),
            stdin=subprocess.DEVNULL, stdout=output, stderr=output, start_new_session=True,
        )  # fmt: skip


def stop(process: subprocess.Popen[bytes], stop_signal: int) -> None:
    """Ask, then tell, then kill; returns when the process is gone."""
    steps = [(stop_signal, PATIENCE_SECONDS["asked"]), (signal.SIGQUIT, PATIENCE_SECONDS["told"])]
    for step, patience in [*steps, (signal.SIGKILL, None)]:
        process.send_signal(step)
        try:
            process.wait(patience)
        except subprocess.TimeoutExpired:
            continue
        return


def _launcher(command: Sequence[str], who: Account, death_signal: int) -> list[str]:
    facts = [os.getpid(), int(death_signal), who.identity, who.uid, who.gid]
    return [sys.executable, "-I", "-S", str(LAUNCH), *map(str, facts), *command]


def _environment() -> dict[str, str]:
    kept = {name: os.environ[name] for name in KEPT_ENVIRONMENT if name in os.environ}
    return kept | {"LC_ALL": "C"}
