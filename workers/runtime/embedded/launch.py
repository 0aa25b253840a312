"""The few steps between `fork` and a server's `exec`, as a script with an interpreter of its own.

Run as `python -I -S launch.py PARENT_PID DEATH_SIGNAL IDENTITY UID GID PROGRAM ARGUMENT...`. A script instead
of a `preexec_fn`: that one runs in a forked copy of a process with threads, where a lock may stay held.
"""

import ctypes
import os
import sys
from pathlib import Path

CLONE_NEWUSER = 0x10000000
PR_SET_PDEATHSIG = 1


def enter_namespace(uid: int, gid: int) -> None:
    """Look like `uid` to the program while its files stay ours for the kernel: user_namespaces(7)."""
    maps = {"setgroups": "deny", "uid_map": f"{uid} {os.geteuid()} 1", "gid_map": f"{gid} {os.getegid()} 1"}
    if ctypes.CDLL(None, use_errno=True).unshare(CLONE_NEWUSER) != 0:
        raise OSError(ctypes.get_errno(), "this kernel or container refuses user namespaces")
    for name, text in maps.items():
        Path("/proc/self", name).write_text(text)


def become(identity: str, uid: int, gid: int) -> None:
    if identity == "namespace":
        enter_namespace(uid, gid)
    elif identity == "nobody":
        os.setgroups([])
        os.setgid(gid)
        os.setuid(uid)


def die_with(parent: int, death_signal: int) -> None:
    """Have the kernel send `death_signal` when the parent goes; 0 asks for nothing, as does macOS."""
    if not death_signal or not sys.platform.startswith("linux"):
        return
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, death_signal)
    if os.getppid() != parent:
        sys.exit("the parent is gone already")


def main(parent: str, death_signal: str, identity: str, uid: str, gid: str, *command: str) -> None:
    become(identity, int(uid), int(gid))
    die_with(int(parent), int(death_signal))  # last: a change of user makes the kernel forget it
    os.execv(command[0], command)  # noqa: S606


if __name__ == "__main__":
    main(*sys.argv[1:])
