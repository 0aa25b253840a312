"""What the gateway answers while PostgreSQL is slow, silent, locked, full or away: `make bench-backpressure`.

A real gateway with the bounds it comes with, a real server behind a proxy. In each state a crowd posts at once, each on
a connection of its own; beside it /healthz is asked again and again. Prints a table, asserts nothing.
"""

import asyncio
import json
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from itertools import count

import httpx2
import psycopg

from tests import servers
from tests.bench.ingest import prepare
from tests.integration.test_backpressure import THEIRS, a_proxy_before
from tests.integration.test_gateway_process import a_process
from tests.proxy import Mode, Proxies, Proxy, proxies
from workers.runtime.embedded import EmbeddedPostgres

ROOM = 60
"""Connections that the server has; the gateway wants 16."""
PATIENCE = 60.0
NUMBERS = count(1)


@dataclass(frozen=True)
class Answer:
    status: int
    seconds: float


@dataclass
class Ground:
    server: str
    database: str
    all_proxies: Proxies
    proxy: Proxy
    url: str
    key: str

    @property
    def place(self) -> tuple[str, int]:
        host, _, port = self.url.removeprefix("http://").partition(":")
        return host, int(port)


async def asked(place: tuple[str, int], head: str, body: bytes = b"") -> Answer:
    began = time.perf_counter()
    reader, writer = await asyncio.open_connection(*place)
    try:
        lines = f"{head}\r\nHost: x\r\nConnection: close\r\nContent-Length: {len(body)}\r\n\r\n"
        writer.write(lines.encode() + body)
        answer = await asyncio.wait_for(reader.read(), PATIENCE)
    finally:
        writer.close()
    return Answer(int(answer.split()[1]), time.perf_counter() - began)


async def posted(ground: Ground) -> Answer:
    number = next(NUMBERS)
    message = {"id": f"m-{number}", "conversation": f"c-{number}", "persona": "maya", "author": "contact"}
    body = json.dumps({**message, "contact": {"id": f"f-{number}"}, "text": "coucou"}).encode()
    key = f"Authorization: Bearer {ground.key}\r\nContent-Type: application/json"
    return await asked(ground.place, f"POST /v1/messages HTTP/1.1\r\n{key}", body)


async def looked_after(ground: Ground, found: list[float]) -> None:
    while True:
        found.append((await asked(ground.place, "GET /healthz HTTP/1.1")).seconds)
        await asyncio.sleep(0.05)


async def crowded(ground: Ground, size: int) -> tuple[list[Answer], float]:
    """What each of them is answered, and the longest that /healthz took meanwhile."""
    alive: list[float] = []
    looking = asyncio.create_task(looked_after(ground, alive))
    answers = list(await asyncio.gather(*(posted(ground) for _ in range(size))))
    looking.cancel()
    return answers, max(alive, default=0.0)


async def back(ground: Ground) -> float:
    """Seconds until a message is taken again."""
    began = time.perf_counter()
    while (await posted(ground)).status != 202:
        await asyncio.sleep(0.05)
    return time.perf_counter() - began


@contextmanager
def turned(ground: Ground, mode: Mode, seconds: float = 0.0) -> Iterator[None]:
    ground.all_proxies.turn(ground.proxy, mode, seconds)
    try:
        yield
    finally:
        ground.all_proxies.turn(ground.proxy, Mode.PASS)


@contextmanager
def locked(ground: Ground) -> Iterator[None]:
    """Somebody alters a table, say."""
    with psycopg.connect(ground.database) as other:
        other.execute("LOCK TABLE messages IN ACCESS EXCLUSIVE MODE")
        yield


@contextmanager
def full(ground: Ground) -> Iterator[None]:
    """Every place is somebody else's, those that the gateway had too."""
    first = psycopg.connect(ground.server, autocommit=True)
    taken = [first]
    try:
        while True:
            first.execute(THEIRS)
            before = len(taken)
            with suppress(psycopg.OperationalError):
                while True:
                    taken.append(psycopg.connect(ground.server, autocommit=True))
            if len(taken) in (before, ROOM):
                break
        yield
    finally:
        for connection in taken:
            connection.close()


STATES: dict[str, Callable[[Ground], AbstractContextManager[None]]] = {
    "well": lambda ground: turned(ground, Mode.PASS),
    "5 ms more each way": lambda ground: turned(ground, Mode.SLOW, 0.005),
    "50 ms more each way": lambda ground: turned(ground, Mode.SLOW, 0.05),
    "400 ms more each way": lambda ground: turned(ground, Mode.SLOW, 0.4),
    "a table locked": locked,
    "silent": lambda ground: turned(ground, Mode.FREEZE),
    "full": full,
    "away": lambda ground: turned(ground, Mode.CUT),
}


def row(name: str, answers: list[Answer], alive: float, again: float) -> str:
    took = sorted(answer.seconds for answer in answers)
    statuses = [answer.status for answer in answers]
    other = len(answers) - statuses.count(202) - statuses.count(503)
    cells = [name, statuses.count(202), statuses.count(503), other]
    cells += [f"{took[int(len(took) * part)]:.2f}" for part in (0.05, 0.5, 0.95)]
    return "| " + " | ".join(str(cell) for cell in [*cells, f"{took[-1]:.2f}", f"{alive:.2f}", f"{again:.2f}"]) + " |"


async def measured(ground: Ground, size: int) -> None:
    for _ in range(3):
        await crowded(ground, 50)  # connections and caches
    print(
        f"{size} at once\n\n| PostgreSQL is | 202 | 503 | other | p5 | p50 | p95 | longest | /healthz | taken again |"
    )
    print("|" + "---|" * 10)
    for name, state in STATES.items():
        with state(ground):
            answers, alive = await crowded(ground, size)
        print(row(name, answers, alive, await back(ground)), flush=True)


def main(size: int) -> None:
    settings = {**servers.FAST, "max_connections": str(ROOM), "superuser_reserved_connections": "0"}
    with servers.server_folder() as folder, EmbeddedPostgres(folder / "postgres", settings) as server:
        servers.make_template(server.database_url)
        with servers.database(server.database_url) as database, proxies() as all_proxies:
            proxy, through = a_proxy_before(database, all_proxies)
            with a_process(through, REPLIQUE_LOG_LEVEL="ERROR") as (_, url):
                ground = Ground(server.database_url, database, all_proxies, proxy, url, prepare(url))
                asyncio.run(measured(ground, size))
                shed = [line for line in httpx2.get(f"{url}/metrics").text.splitlines() if "_shed_total{" in line]
                print("\n" + "\n".join(shed))


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1000)
