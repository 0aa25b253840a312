"""Fixtures for all tests: real servers for those that ask, no network for the unit tests."""

import itertools
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests import servers

UNIT = Path(__file__).parent / "unit"
REDIS_DATABASES = itertools.cycle(range(11))
"""The others belong to stacks, which live longer than a test."""


class NetworkUsed(AssertionError):
    """A unit test reached for the network."""


class NetworkWatch:
    """Sees every socket call of the interpreter, in all threads, and refuses the internet kind when closed.

    An audit hook patches nothing and misses nothing; it cannot be taken away, so it is opened and closed.
    """

    def __init__(self) -> None:
        self.closed = False
        self.refused: list[str] = []
        sys.addaudithook(self._see)

    def _see(self, event: str, args: tuple[Any, ...]) -> None:
        if not self.closed or not _reaches_out(event, args):
            return
        self.refused.append(event)
        raise NetworkUsed(f"unit tests have no network: {event}")


def _reaches_out(event: str, args: tuple[Any, ...]) -> bool:
    if event in {"socket.connect", "socket.sendto", "socket.sendmsg"}:
        return args[0].family.name in {"AF_INET", "AF_INET6"}
    return event == "socket.getaddrinfo" and args[0] not in {None, "127.0.0.1", "::1"}


@pytest.fixture(scope="session")
def network_watch() -> NetworkWatch:
    return NetworkWatch()


@pytest.fixture(autouse=True)
def no_network_in_unit_tests(request: pytest.FixtureRequest, network_watch: NetworkWatch) -> Iterator[None]:
    """Closed while a unit test runs; what it tried is told even where the code swallowed the error."""
    if UNIT not in request.path.parents:
        yield
        return
    network_watch.refused.clear()
    network_watch.closed = True
    yield
    network_watch.closed = False
    assert network_watch.refused == []


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[str]:
    """The URL of the run's PostgreSQL, connected to its maintenance database."""
    with servers.postgres() as url:
        yield url


@pytest.fixture(scope="session")
def database_template(postgres_server: str) -> str:
    return servers.make_template(postgres_server)


@pytest.fixture
def database_url(postgres_server: str, database_template: str) -> Iterator[str]:
    """`postgresql://…` of a migrated database that only this test knows."""
    with servers.database(postgres_server, database_template) as url:
        yield url


@pytest.fixture(scope="session")
def redis_server() -> Iterator[str]:
    with servers.valkey() as url:
        yield url


@pytest.fixture
def redis_url(redis_server: str) -> Iterator[str]:
    """An empty logical database. Each test gets the next one: what an earlier left running is elsewhere."""
    url = servers.with_redis_database(redis_server, next(REDIS_DATABASES))
    servers.flush(url)
    yield url
    servers.flush(url)
