"""A connection to Redis was cut while nobody used it: who writes next gets another, or is told that it is away."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from redis.exceptions import RedisError

from tests.proxy import Mode, Proxies, Proxy, proxies
from workers.adapters.redis.courier import connect
from workers.runtime.loop import new_event_loop


@asynccontextmanager
async def pong() -> AsyncIterator[int]:
    """Says what Redis says to PING, to whatever it is told, a line at a time."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while (line := await reader.readline()).startswith(b"*"):
                for _ in range(2 * int(line[1:])):
                    await reader.readline()
                writer.write(b"+PONG\r\n")
        except ConnectionError:
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()


async def asked_after_a_cut(away: bool) -> bool:
    """On the event loop that the processes run on."""
    async with pong() as port:
        with proxies() as all_of_them:
            proxy = all_of_them.open(("127.0.0.1", port))
            client = connect(f"redis://127.0.0.1:{proxy.port}/0?protocol=2&lib_name=&lib_version=")
            assert await client.ping()
            await cut(all_of_them, proxy)
            if not away:
                all_of_them.turn(proxy, Mode.PASS)
            try:
                return bool(await client.ping())
            finally:
                await client.aclose()


async def cut(all_of_them: Proxies, proxy: Proxy) -> None:
    all_of_them.turn(proxy, Mode.CUT)
    await asyncio.sleep(0.1)  # the loop has read the reset by now


def test_the_next_command_gets_another_connection() -> None:
    with asyncio.Runner(loop_factory=new_event_loop) as runner:
        assert runner.run(asked_after_a_cut(away=False))


def test_a_redis_that_stays_away_is_named_as_away() -> None:
    with asyncio.Runner(loop_factory=new_event_loop) as runner, pytest.raises((RedisError, OSError)):
        runner.run(asked_after_a_cut(away=True))
