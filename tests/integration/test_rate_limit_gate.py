"""The gate of a rate-limited model: shared by processes, remembered by each, restored when wiped."""

import asyncio
from collections.abc import AsyncIterator

import pytest
from redis import Redis

from pipelines.llm import ramp
from schemas.llm import Model
from tests.fakes import HAIKU, FrozenClock
from workers.adapters.clock import SystemClock
from workers.adapters.redis.gate import RedisGate, key_of

SONNET = Model("anthropic", "claude-sonnet-5-5")
NOWHERE = "redis://127.0.0.1:1/0"


class Gates:
    """Of as many processes as are asked for. Their clocks stand still, Redis's does not."""

    def __init__(self, url: str, width: float) -> None:
        self.url = url
        self.width = width
        self.made: list[RedisGate] = []

    def another(self, url: str | None = None, clock: FrozenClock | None = None) -> RedisGate:
        self.made.append(RedisGate(url or self.url, clock or SystemClock(), self.width))
        return self.made[-1]


@pytest.fixture
async def gates(redis_url: str) -> AsyncIterator[Gates]:
    made = Gates(redis_url, 60)
    yield made
    for gate in made.made:
        await gate.close_connection()


async def let_in(*gates: RedisGate, asked: int = 8) -> int:
    """How many of so many calls each go out."""
    return sum([await gate.wait(HAIKU) == 0 for _ in range(asked) for gate in gates])


async def test_what_one_process_hears_all_of_them_know(gates: Gates) -> None:
    one, other = gates.another(), gates.another()
    assert await let_in(one, other) == 16

    await one.close(HAIKU, 30)

    assert await let_in(one, other) == 0
    assert 29 < await other.wait(HAIKU) - 60 * 4 < 30 + 60, "the 17th fits into the fifth step"
    assert await other.wait(SONNET) == 0


async def test_of_two_limits_heard_at_once_the_later_counts_in_either_order(gates: Gates) -> None:
    gate = gates.another()
    await asyncio.gather(*(gate.wait(HAIKU) for _ in range(8)))  # as many connections are open
    await asyncio.gather(*(gate.close(HAIKU, seconds) for seconds in (30, 90, 30, 60, 30)))

    assert 85 < await gate.wait(HAIKU) < 90 + 60


async def test_when_it_opens_one_goes_and_then_two_of_all_processes_together(gates: Gates) -> None:
    one, other = gates.another(), gates.another()
    await one.close(HAIKU, 0)

    found = []
    for step in range(4):
        with Redis.from_url(gates.url) as redis:  # as if so many steps had gone by
            redis.pexpire(key_of(HAIKU), (ramp.STEPS - step) * 60_000 - 1000)
        found.append(await let_in(one, other))

    assert found == [1, 2, 4, 8]


async def test_a_later_date_shuts_it_again_and_an_earlier_one_does_not(gates: Gates) -> None:
    one, other = gates.another(), gates.another()
    await one.close(HAIKU, 600)
    await other.close(HAIKU, 5)

    assert await one.wait(HAIKU) > 590

    await other.close(HAIKU, 6000)

    assert await one.wait(HAIKU) > 5900


async def test_a_wiped_redis_is_told_by_whoever_knows(gates: Gates) -> None:
    one, stranger = gates.another(), gates.another()
    await one.close(HAIKU, 30)
    with Redis.from_url(gates.url) as redis:
        redis.flushdb()

    assert await one.wait(HAIKU) > 0
    assert await stranger.wait(HAIKU) > 0


async def test_without_redis_each_process_goes_by_what_it_heard() -> None:
    clock = FrozenClock()
    gates = Gates(NOWHERE, 1)
    one, other = gates.another(clock=clock), gates.another(clock=clock)
    await one.close(HAIKU, 30)

    assert await let_in(other) == 8
    assert await let_in(one) == 0
    found = []
    for seconds in (30, 1, 1, 1):
        clock.move(seconds)
        found.append(await let_in(one, asked=20))
    assert found == [1, 2, 4, 8]
    clock.move(7)
    assert await let_in(one, asked=600) == 600
    for gate in gates.made:
        await gate.close_connection()


async def test_nothing_of_it_stays_in_redis(redis_url: str) -> None:
    gates = Gates(redis_url, 60)
    gate = gates.another()
    await gate.close(HAIKU, 30)
    await gate.wait(HAIKU)

    with Redis.from_url(redis_url) as redis:
        lives = {key.decode(): redis.pttl(key) / 1000 for key in redis.keys("*")}
    await gate.close_connection()

    assert key_of(HAIKU) in lives
    assert len(lives) == 2
    assert all(600 < seconds <= 630 for seconds in lives.values())
