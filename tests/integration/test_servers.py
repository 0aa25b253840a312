"""Do the fixtures give what they promise?"""

import asyncio
import socket

import psycopg
import pytest
import redis

from tests.conftest import NetworkUsed, NetworkWatch
from tests.servers import database


def test_a_database_url_is_a_database_of_its_own(database_url: str, postgres_server: str) -> None:
    with database(postgres_server) as other, psycopg.connect(other) as connection:
        connection.execute("CREATE TABLE only_there (id int)")
        connection.commit()
        with psycopg.connect(database_url) as here:
            found = here.execute("SELECT to_regclass('only_there')").fetchone()

    assert found == (None,)


def test_a_redis_url_is_empty_and_not_shared(redis_url: str, redis_server: str) -> None:
    with redis.Redis.from_url(redis_url, decode_responses=True) as client:
        before = client.keys()
        client.set("a", "1")
        after = client.keys()

    assert (before, after) == ([], ["a"])


def test_next_redis_url_is_empty_too(redis_url: str) -> None:
    with redis.Redis.from_url(redis_url) as client:
        assert client.dbsize() == 0


@pytest.mark.parametrize("address", [("127.0.0.1", 9), ("::1", 9)])
def test_a_closed_network_refuses_and_remembers(network_watch: NetworkWatch, address: tuple[str, int]) -> None:
    family = socket.AF_INET6 if ":" in address[0] else socket.AF_INET
    network_watch.closed = True

    with socket.socket(family) as reaching, pytest.raises(NetworkUsed):
        reaching.connect(address)

    network_watch.closed = False
    assert network_watch.refused == ["socket.connect"]
    network_watch.refused.clear()


async def test_a_closed_network_leaves_event_loops_alone(network_watch: NetworkWatch) -> None:
    network_watch.closed = True
    await asyncio.to_thread(lambda: None)
    network_watch.closed = False

    assert network_watch.refused == []
