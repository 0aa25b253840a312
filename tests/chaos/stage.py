"""The product as seven processes, or few, on servers of its own behind proxies: all can be broken and mended."""

import os
import re
import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

import psutil
import psycopg
from psycopg.rows import dict_row
from redis import Redis

from tests import servers
from tests.chaos.plan import PROCESSES
from tests.chaos.receiver import MoodyReceiver, moody_receiver
from tests.proxy import Mode, Proxies, Proxy, proxies
from tests.simulator import RunningSimulator, running_simulator
from tests.stack import Stack, running_stack, wait_until
from workers.runtime.embedded import EmbeddedPostgres, EmbeddedValkey
from workers.simulator.journal import Journal

Row = dict[str, Any]

CRASH_SAFE = {**servers.FAST, "synchronous_commit": "on"}
"""What was committed outlives the server's death, if not the machine's."""
FAULT = re.compile(r"\[(error|critical) *\] *(fault|request_failed|renewal_failed|worker_dead|worker_broken)\b")
IDLE_SECONDS = 15
"""After which a conversation is searched for facts to remember: a chore for each."""
QUICK = {
    "REPLIQUE_QUEUE__LEASE_SECONDS": "8",
    "REPLIQUE_QUEUE__RENEW_SECONDS": "1",
    "REPLIQUE_DELIVERY__TIMEOUT_SECONDS": "2",
    "REPLIQUE_LLM__TIMEOUT_SECONDS": "10",
    "REPLIQUE_LLM__BREAKER_SECONDS": "1",
    "REPLIQUE_MEMORY__IDLE_SECONDS": str(IDLE_SECONDS),
}
LATENCY = 0.2
MOST_REQUESTS, MOST_CHARACTERS = 200_000, 2**31
"""All that the simulator sees is kept: the ledger is held against it."""


@dataclass
class Stage:
    stack: Stack
    postgres: EmbeddedPostgres
    valkey: EmbeddedValkey
    simulator: RunningSimulator
    receiver: MoodyReceiver
    wires: dict[str, Proxy]
    _proxies: Proxies
    down: set[str] = field(default_factory=set)
    """Processes that were killed and are not started yet."""
    _instances: Iterator[int] = field(default_factory=lambda: count(1))

    def rows(self, sql: str) -> list[Row]:
        """Asked behind the proxy's back."""
        with psycopg.connect(self.postgres.database_url, row_factory=dict_row) as connection:
            return connection.execute(sql.encode()).fetchall()

    def turn(self, wire: str, mode: Mode, seconds: float = 0.0) -> None:
        self._proxies.turn(self.wires[wire], mode, seconds)

    def flush(self) -> None:
        with Redis.from_url(self.valkey.redis_url, socket_timeout=10) as redis:
            redis.flushall()

    def kill(self, process: str) -> None:
        child = self.stack.children[process]
        self.down.add(process)
        child.send_signal(signal.SIGKILL)
        child.wait(10)

    def start(self, process: str) -> None:
        """Under a new name: what the dead one had leased is nobody's until the clock says so."""
        self.stack.start(process, *self._command(process), REPLIQUE_INSTANCE=f"{process}-again-{next(self._instances)}")
        self.down.discard(process)

    def kill_server(self, server: EmbeddedPostgres | EmbeddedValkey, sign: signal.Signals) -> None:
        assert server.pid is not None
        os.kill(server.pid, sign)
        wait_until(lambda: not server.running or None, 20, "the server to die")

    def unwell(self) -> list[str]:
        """Processes that have ended and that nobody killed."""
        children = [(name, child.poll()) for name, child in self.stack.children.items() if name not in self.down]
        return [f"{name} ended with {code}" for name, code in children if code is not None]

    def told_of_faults(self) -> list[str]:
        """What no server that is away excuses: an exception that nobody expected."""
        return [
            f"{log.name}: {line[:2000]}"
            for log in sorted(self.stack.logs.glob("*.log"))
            for line in log.read_text(errors="replace").splitlines()
            if FAULT.search(line)
        ]

    def hints_lost(self) -> tuple[int, int]:
        """How often a clock found a new Redis, and how many rows it offered again because of that."""
        logs = [log.read_text(errors="replace") for log in self.stack.logs.glob("clock*.log")]
        rows = [int(found) for log in logs for found in re.findall(r"redis_is_new.*rows=(\d+)", log)]
        return len(rows), sum(rows)

    def start_the_others(self, processes: Sequence[str]) -> None:
        for process in processes:
            if process not in self.stack.children:
                self.start(process)
        workers = [name for name in processes if name.startswith(("reply", "send"))]
        wait_until(lambda: all(map(self._has_started, workers)) or None, 90, "all workers")

    def _has_started(self, worker: str) -> bool:
        log = self.stack.logs / f"{worker}.log"
        return log.exists() and "worker_started" in log.read_text(errors="replace")

    def _command(self, process: str) -> Sequence[str]:
        kind = process.split("-")[0]
        port = self.stack.url.rsplit(":", 1)[1]
        return {
            "gateway": ("gateway", "--port", port),
            "clock": ("clock",),
            "reply": ("worker", "--queues", "reply,background"),
            "send": ("worker", "--queues", "send"),
        }[kind]


@contextmanager
def stage(processes: Sequence[str] = PROCESSES, latency: float = LATENCY, **settings: str) -> Iterator[Stage]:
    with (
        servers.server_folder() as folder,
        EmbeddedPostgres(folder / "postgres", CRASH_SAFE) as postgres,
        EmbeddedValkey(folder / "valkey") as valkey,
        running_simulator(latency=latency) as simulator,
        moody_receiver() as (receiver, receiver_port),
        proxies() as all_proxies,
    ):
        servers.migrate(postgres.database_url)
        simulator.state.journal = Journal(MOST_REQUESTS, MOST_CHARACTERS)
        model_port = int(simulator.base_url.rsplit(":", 1)[1])
        wires = {
            "postgres": all_proxies.open(str(postgres._folder.socket)),
            "redis": all_proxies.open(str(valkey._folder.socket)),
            "model": all_proxies.open(("127.0.0.1", model_port)),
            "receiver": all_proxies.open(("127.0.0.1", receiver_port)),
        }
        receiver.url = f"http://127.0.0.1:{wires['receiver'].port}/hooks"
        database = f"postgresql://replique@127.0.0.1:{wires['postgres'].port}/replique?sslmode=disable"
        redis = f"redis://127.0.0.1:{wires['redis'].port}/0"
        model = f"http://127.0.0.1:{wires['model'].port}"
        with running_stack(database, redis, model, receiver, **{**QUICK, **settings}) as stack:
            found = Stage(stack, postgres, valkey, simulator, receiver, wires, all_proxies)
            found.start_the_others(processes)
            yield found
            for wire in wires:
                found.turn(wire, Mode.PASS)
        nobody_left_behind(stack.logs)


def nobody_left_behind(folder: Path) -> None:
    """Whatever the product started has ended with it, also what a killed process had started."""

    def gone() -> bool:
        return not left_in(folder)

    try:
        wait_until(gone, 20, "all processes to end")
    except AssertionError:
        left = left_in(folder)
        for process in left:
            process.kill()
        raise AssertionError(f"left behind: {[' '.join(process.cmdline()) for process in left]}") from None


def left_in(folder: Path) -> list[psutil.Process]:
    """Processes that work in this folder, which may be deleted by now."""
    found = []
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            if process.cwd().startswith(str(folder)) and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process)
    return found
