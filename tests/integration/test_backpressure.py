"""What the gateway answers while PostgreSQL is slow, full, read-only or away: 503, soon, and 202 again afterwards.

The gateway is the real process, the server a real one that is really filled up and really told to refuse writes. It is
reached through a proxy, so that it can also be made slow, silent and cut off.
"""

import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import count
from urllib.parse import parse_qs, urlsplit

import httpx2
import psycopg
import pytest
from psycopg import sql

from tests import servers
from tests.integration.test_gateway_process import HEADERS, a_process, prepare
from tests.proxy import Mode, Proxies, Proxy, proxies
from tests.stack import wait_until
from workers.runtime.embedded import EmbeddedPostgres

ROOM = 16
"""Connections that the server has."""
LIMITS = {
    "REPLIQUE_GATEWAY__ANSWER_SECONDS": "1.5",
    "REPLIQUE_GATEWAY__LONGER_SECONDS": "1.5",
    "REPLIQUE_GATEWAY__POOL_SIZE": "4",
    "REPLIQUE_GATEWAY__WAITING_REQUESTS": "12",
}
SOON = 3.0
"""Whatever becomes of PostgreSQL, nobody waits longer for an answer."""
NUMBERS = count(1)
THEIRS = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'replique'"
WRITE = "POST /v1/messages"
PATHS = (WRITE, "GET /v1/jobs", "GET /v1/conversations/c-1", "GET /v1/costs", "GET /metrics", "GET /readyz")


@dataclass(frozen=True)
class Answer:
    status: int
    code: str | None
    retry_after: str | None
    seconds: float


@dataclass
class Ground:
    server: str
    """The server's own address, past the proxy."""
    database: str
    all_proxies: Proxies
    proxy: Proxy
    http: httpx2.Client

    def turn(self, mode: Mode, seconds: float = 0.0) -> None:
        self.all_proxies.turn(self.proxy, mode, seconds)

    def ask(self, asked: str = WRITE) -> Answer:
        method, path = asked.split(" ")
        number = next(NUMBERS)
        body = {"id": f"m-{number}", "conversation": f"c-{number}", "persona": "maya", "author": "contact"}
        told = {"json": body | {"contact": {"id": f"f-{number}"}, "text": "coucou"}} if asked == WRITE else {}
        began = time.monotonic()
        answer = self.http.request(method, path, **told)  # type: ignore[arg-type]
        seconds = time.monotonic() - began
        problem = answer.json() if "problem" in answer.headers["content-type"] else {}
        assert not problem or {"type", "title", "status", "detail", "code", "request_id"} <= problem.keys()
        return Answer(answer.status_code, problem.get("code"), answer.headers.get("retry-after"), seconds)

    def sent_away(self, *asked: str) -> None:
        """Every one of them, in a way that a client can work with."""
        for what in asked:
            answer = self.ask(what)
            assert (answer.status, answer.code) == (503, "AR-503"), (what, answer)
            assert answer.retry_after is not None, what
            assert int(answer.retry_after) >= 1, what
            assert answer.seconds < SOON, (what, answer)

    def comes_back(self) -> None:
        wait_until(lambda: self.ask().status == 202 or None, 15, "a message to be taken again")
        wait_until(lambda: self.ask("GET /readyz").status == 200 or None, 5, "readiness")

    def shed(self) -> dict[str, float]:
        text = self.http.get("/metrics").text
        lines = [line for line in text.splitlines() if line.startswith("replique_requests_shed_total{")]
        return {line.split('"')[1]: float(line.rsplit(" ", 1)[1]) for line in lines}

    def tell(self, statement: str, *values: object) -> None:
        with psycopg.connect(self.server, autocommit=True) as connection:
            connection.execute(statement, values)  # type: ignore[call-overload]


@pytest.fixture(scope="module")
def small_server() -> Iterator[str]:
    """One that has room for few, of which one place is kept for us."""
    settings = {**servers.FAST, "max_connections": str(ROOM), "superuser_reserved_connections": "0"}
    with servers.server_folder() as folder, EmbeddedPostgres(folder / "postgres", settings) as server:
        servers.make_template(server.database_url)
        yield server.database_url


def a_proxy_before(database: str, all_proxies: Proxies) -> tuple[Proxy, str]:
    """The proxy, and the database's address through it."""
    parts = urlsplit(database)
    proxy = all_proxies.open(f"{parse_qs(parts.query)['host'][0]}/.s.PGSQL.5432")
    return proxy, f"postgresql://{parts.username}@127.0.0.1:{proxy.port}{parts.path}"


@pytest.fixture
def ground(small_server: str) -> Iterator[Ground]:
    with servers.database(small_server) as database, proxies() as all_proxies:
        proxy, through = a_proxy_before(database, all_proxies)
        limits = httpx2.Limits(max_connections=100)
        with (
            a_process(through, **LIMITS) as (_, url),
            httpx2.Client(base_url=url, headers=HEADERS, timeout=20, limits=limits) as http,
        ):
            prepare(url)
            ground = Ground(small_server, database, all_proxies, proxy, http)
            yield ground
            ground.turn(Mode.PASS)


def a_crowd(ground: Ground, size: int = 40) -> list[Answer]:
    with ThreadPoolExecutor(size) as pool:
        return list(pool.map(lambda _: ground.ask(), range(size)))


@pytest.mark.slow
def test_a_server_that_says_nothing_any_more_is_hung_up_on(ground: Ground) -> None:
    assert ground.ask().status == 202
    ground.turn(Mode.FREEZE)

    ground.sent_away(*PATHS)
    crowd = a_crowd(ground)

    assert {answer.status for answer in crowd} == {503}
    assert max(answer.seconds for answer in crowd) < SOON
    assert sum(answer.seconds < 0.7 for answer in crowd) >= 40 - 12 - 4, "who finds too many waiting need not wait"
    ground.turn(Mode.PASS)
    ground.comes_back()
    shed = ground.shed()
    assert shed["crowd"] >= 40 - 12 - 4
    assert shed["no_answer"] >= 1


def test_a_server_that_is_too_slow_is_given_up_and_one_that_is_a_little_slow_is_waited_for(ground: Ground) -> None:
    ground.turn(Mode.SLOW, 0.025)  # each way
    assert ground.ask().status == 202
    ground.turn(Mode.SLOW, 0.4)
    ground.sent_away(WRITE, "GET /v1/jobs", "GET /metrics")
    ground.turn(Mode.PASS)
    ground.comes_back()


@pytest.mark.slow
def test_a_statement_that_takes_too_long_is_ended_by_the_server_itself(ground: Ground) -> None:
    with psycopg.connect(ground.database) as other:
        other.execute("LOCK TABLE messages IN ACCESS EXCLUSIVE MODE")
        ground.sent_away(WRITE)
        left = other.execute(
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
        ).fetchone()
        assert left == (0,), "what nobody waits for does not go on"
    ground.comes_back()
    ground.tell(f"ALTER DATABASE {ground.database.split('/')[3].split('?')[0]} SET statement_timeout = 1")
    ground.turn(Mode.CUT)
    ground.turn(Mode.PASS)
    ground.comes_back()  # on our connections, ours counts


def test_a_server_without_a_place_for_us(ground: Ground) -> None:
    with the_server_full(ground):
        ground.sent_away(WRITE, "GET /v1/jobs", "GET /readyz")
    ground.comes_back()
    assert ground.shed()["no_connection"] >= 3


@contextmanager
def the_server_full(ground: Ground) -> Iterator[None]:
    """Every place is taken by somebody else, those that the gateway had too."""
    taken = []
    try:
        with suppress(psycopg.OperationalError):
            while True:
                taken.append(psycopg.connect(ground.server, autocommit=True))
        end = time.monotonic() + 5
        while len(taken) < ROOM and time.monotonic() < end:
            taken[0].execute(THEIRS)
            with suppress(psycopg.OperationalError):
                taken.append(psycopg.connect(ground.server, autocommit=True))
        with pytest.raises(psycopg.OperationalError, match="too many clients"):
            psycopg.connect(ground.server)
        yield
    finally:
        for connection in taken:
            connection.close()


@pytest.mark.slow
def test_a_server_that_only_reads(ground: Ground) -> None:
    assert ground.ask().status == 202
    read_only(ground, "on")
    try:
        ground.sent_away(WRITE, "GET /readyz")
        assert ground.ask("GET /v1/jobs").status == 200
    finally:
        read_only(ground, "off")
    ground.comes_back()


def read_only(ground: Ground, on: str) -> None:
    with psycopg.connect(ground.server, autocommit=True) as connection:
        connection.execute("SET default_transaction_read_only = off")
        connection.execute(sql.SQL("ALTER SYSTEM SET default_transaction_read_only = {}").format(sql.Literal(on)))
        connection.execute("SELECT pg_reload_conf()")
    time.sleep(0.2)


def test_a_server_that_is_not_there(ground: Ground) -> None:
    ground.turn(Mode.CUT)

    ground.sent_away(*PATHS)
    crowd = a_crowd(ground)

    assert Counter(answer.status for answer in crowd) == {503: 40}
    ground.turn(Mode.PASS)
    ground.comes_back()
