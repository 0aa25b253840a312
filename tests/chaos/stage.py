"""The product as seven processes on servers of its own, each behind a proxy: all of it can be broken and mended."""

import os
import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from typing import Any

import psycopg
from psycopg.rows import dict_row
from redis import Redis

from tests import servers
from tests.chaos.plan import PROCESSES
from tests.chaos.proxy import Mode, Proxies, Proxy, proxies
from tests.chaos.receiver import MoodyReceiver, moody_receiver
from tests.simulator import RunningSimulator, running_simulator
from tests.stack import Stack, running_stack, wait_until
from workers.runtime.embedded import EmbeddedPostgres, EmbeddedValkey
from workers.simulator.journal import Journal

Row = dict[str, Any]

CRASH_SAFE = {**servers.FAST, "synchronous_commit": "on"}
"""What was committed outlives the server's death, if not the machine's."""
QUICK = {
    "REPLIQUE_QUEUE__LEASE_SECONDS": "8",
    "REPLIQUE_QUEUE__RENEW_SECONDS": "1",
    "REPLIQUE_DELIVERY__TIMEOUT_SECONDS": "2",
    "REPLIQUE_LLM__TIMEOUT_SECONDS": "10",
    "REPLIQUE_LLM__BREAKER_SECONDS": "1",
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
        child.send_signal(signal.SIGKILL)
        child.wait(10)

    def start(self, process: str) -> None:
        """Under a new name: what the dead one had leased is nobody's until the clock says so."""
        self.stack.start(process, *self._command(process), REPLIQUE_INSTANCE=f"{process}-again-{next(self._instances)}")

    def kill_server(self, server: EmbeddedPostgres | EmbeddedValkey, sign: signal.Signals) -> None:
        assert server.pid is not None
        os.kill(server.pid, sign)
        wait_until(lambda: not server.running or None, 20, "the server to die")

    def unwell(self) -> list[str]:
        """Processes that have ended and that nobody killed."""
        return [f"{name} ended with {c.poll()}" for name, c in self.stack.children.items() if c.poll() is not None]

    def start_the_others(self) -> None:
        for process in PROCESSES:
            if process not in self.stack.children:
                self.start(process)
        workers = [name for name in PROCESSES if name.startswith(("reply", "send"))]
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
def stage(latency: float = LATENCY, **settings: str) -> Iterator[Stage]:
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
            found.start_the_others()
            yield found
            for wire in wires:
                found.turn(wire, Mode.PASS)
