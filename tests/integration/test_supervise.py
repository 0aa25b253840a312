"""Real processes under the supervisor: restarted, their leases given back, stopped in order, gone with their parent."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.fakes_command import eventually
from workers.cli.failures import FolderTaken, PortTaken
from workers.cli.ports import require_free
from workers.cli.up.folder import Folder
from workers.runtime.supervise import Program, Supervisor

SLEEPER = "import signal, sys, time; signal.signal(signal.SIGTERM, lambda *_: sys.exit(0)); time.sleep(60)"
DEAF = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('deaf', flush=True); time.sleep(60)"
# Writes down when it was asked to leave, and takes its time.
SLOW_LEAVER = (
    "import os, signal, sys, time\n"
    "def leave(*_):\n"
    "    print('asked', time.monotonic(), flush=True); time.sleep(0.5)\n"
    "    print('gone', time.monotonic(), flush=True); sys.exit(0)\n"
    "signal.signal(signal.SIGTERM, leave)\n"
    "print('up', flush=True)\n"
    "time.sleep(60)\n"
)


class Desk:
    """What the supervisor told and gave back."""

    def __init__(self) -> None:
        self.reports: list[str] = []
        self.released: list[str] = []


def program(name: str, code: str, leaves_last: bool = False) -> Program:
    return Program(name, (sys.executable, "-c", code), dict(os.environ), leaves_last)


@contextmanager
def supervised(folder: Path, *programs: Program, grace: float = 10.0) -> Iterator[tuple[Supervisor, Desk]]:
    desk = Desk()
    watch = Supervisor(programs, folder, desk.released.append, desk.reports.append, grace_seconds=grace)
    watch.start()
    try:
        yield watch, desk
    finally:
        for child in watch.children:
            child.send(signal.SIGKILL)
        watch.stop()


def looking(watch: Supervisor, true: Callable[[], bool]) -> Callable[[], bool]:
    def looked() -> bool:
        watch.look()
        return true()

    return looked


def gone(pid: int) -> bool:
    """Ended; a zombie that nobody has waited for yet counts."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] in "ZX"
    except FileNotFoundError:
        return True


def written(folder: Path, name: str) -> list[str]:
    return (folder / f"{name}.log").read_text().split()


def test_a_dead_child_is_restarted_and_its_leases_given_back(tmp_path: Path) -> None:
    with supervised(tmp_path, program("worker", SLEEPER)) as (watch, desk):
        child = watch.child("worker")
        first, instance = child.pid, child.instance
        assert first is not None
        os.kill(first, signal.SIGKILL)
        eventually(looking(watch, lambda: child.running and child.pid != first))
        assert (desk.released, child.instance != instance) == ([instance], True)
        assert desk.reports == [f"worker was ended by SIGKILL; it is started again. Its log: {tmp_path / 'worker.log'}"]


def test_a_child_knows_the_name_its_leases_will_have(tmp_path: Path) -> None:
    tells = "import os, time; print(os.environ['REPLIQUE_INSTANCE'], flush=True); time.sleep(60)"
    with supervised(tmp_path, program("worker", tells)) as (watch, _):
        eventually(lambda: written(tmp_path, "worker") == [watch.child("worker").instance])


def test_a_child_that_cannot_start_is_tried_less_and_less_often(tmp_path: Path) -> None:
    with supervised(tmp_path, program("worker", "import sys; print('no'); sys.exit(3)")) as (watch, desk):
        began = time.monotonic()
        eventually(looking(watch, lambda: watch.child("worker").young_deaths == 3))
        assert time.monotonic() - began >= 0.6  # 0.1 s, then 0.5 s
        assert desk.reports[0].startswith("worker ended with exit code 3; it is started again.")
        assert watch.child("worker").last_lines() == "no\nno\nno"


def test_what_others_need_leaves_last(tmp_path: Path) -> None:
    model, worker = program("model", SLOW_LEAVER, leaves_last=True), program("worker", SLOW_LEAVER)
    with supervised(tmp_path, model, worker) as (watch, _):
        eventually(lambda: written(tmp_path, "model") == written(tmp_path, "worker") == ["up"])
        watch.stop()
        worker_gone = float(written(tmp_path, "worker")[-1])
        model_asked = float(written(tmp_path, "model")[2])
        assert worker_gone <= model_asked


def test_a_child_that_does_not_leave_is_killed_after_the_grace_time(tmp_path: Path) -> None:
    with supervised(tmp_path, program("worker", DEAF), grace=0.3) as (watch, _):
        eventually(lambda: written(tmp_path, "worker") == ["deaf"])
        watch.stop()
        assert not watch.child("worker").running


PARENT = """
import sys, os
from pathlib import Path
from workers.runtime.supervise import Program, Supervisor
folder = Path(sys.argv[1])
program = Program("worker", (sys.executable, "-c", sys.argv[2]), dict(os.environ))
watch = Supervisor([program], folder, lambda _: None, lambda _: None, grace_seconds=10)
watch.listen()
watch.start()
print(watch.child("worker").pid, flush=True)
watch.run()
watch.stop()
print("stopped", flush=True)
"""


@contextmanager
def parent_process(folder: Path, code: str = SLOW_LEAVER) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """A supervisor in a process of its own, and the pid of its child, which is up."""
    root = Path(__file__).parents[2]
    command = [sys.executable, "-c", PARENT, str(folder), code]
    with subprocess.Popen(command, cwd=root, stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        pid = int(parent.stdout.readline())
        eventually(lambda: written(folder, "worker") != [])
        try:
            yield parent, pid
        finally:
            parent.kill()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_stops_all_of_it_cleanly(tmp_path: Path, number: signal.Signals) -> None:
    with parent_process(tmp_path) as (parent, pid):
        parent.send_signal(number)
        out, _ = parent.communicate(timeout=20)
        assert (out, parent.returncode, gone(pid)) == ("stopped\n", 0, True)
        assert [word for word in written(tmp_path, "worker") if word.isalpha()] == ["up", "asked", "gone"]


def test_a_second_signal_does_not_wait_for_the_grace_time(tmp_path: Path) -> None:
    with parent_process(tmp_path, DEAF) as (parent, pid):
        parent.send_signal(signal.SIGTERM)
        time.sleep(0.5)
        assert parent.poll() is None
        parent.send_signal(signal.SIGTERM)
        out, _ = parent.communicate(timeout=5)
        assert (out, gone(pid)) == ("stopped\n", True)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells a child that its parent died")
def test_children_die_with_a_parent_that_is_killed(tmp_path: Path) -> None:
    with parent_process(tmp_path, DEAF) as (parent, pid):
        parent.kill()
        eventually(lambda: gone(pid))


def test_a_second_up_on_the_same_folder_is_refused(tmp_path: Path) -> None:
    with Folder(tmp_path / "home"), pytest.raises(FolderTaken) as refusal, Folder(tmp_path / "home"):
        pass
    assert str(refusal.value) == (
        f"`replique up` already runs in {tmp_path / 'home'} (process {os.getpid()}): "
        "stop it, or start in another folder"
    )


def test_a_folder_is_free_again_once_it_was_left(tmp_path: Path) -> None:
    with Folder(tmp_path / "home") as first:
        key = first.key(None)
    with Folder(tmp_path / "home") as second:
        assert second.key("given") == "given"
        assert second.key(None) != key  # nothing was kept yet


def test_a_port_in_use_is_named_at_once() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken, pytest.raises(PortTaken) as refusal:
        require_free("127.0.0.1", port := taken.getsockname()[1])
    assert str(refusal.value) == (
        f"port {port} of 127.0.0.1 is in use: stop what listens there, or choose another with --port"
    )
