"""The breaker of a failing model: shared by processes, counted by each alone while Redis is away."""

from collections.abc import AsyncIterator

import pytest
from redis import Redis

from pipelines.llm.breaker import Rules, State
from schemas.llm import Model
from tests.fakes import HAIKU, FrozenClock
from workers.adapters.clock import SystemClock
from workers.adapters.redis.breaker import BELIEVED_SECONDS, BreakerStates, RedisBreaker, key_of

SONNET = Model("anthropic", "claude-sonnet-5-5")
NOWHERE = "redis://127.0.0.1:1/0"
RULES = Rules(failures=4, seconds=60)


class Breakers:
    """Of as many processes as are asked for."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.made: list[RedisBreaker] = []

    def another(self, url: str | None = None, clock: FrozenClock | None = None) -> RedisBreaker:
        self.made.append(RedisBreaker(url or self.url, clock or SystemClock(), RULES))
        return self.made[-1]

    def time_passes(self) -> None:
        """As if the pause were over."""
        with Redis.from_url(self.url) as redis:
            assert redis.delete(key_of(HAIKU, "open")) == 1

    async def states(self, *models: Model) -> dict[str, State]:
        states = BreakerStates(self.url, SystemClock(), models)
        found = dict(await states.look())
        await states.close()
        return found


@pytest.fixture
async def breakers(redis_url: str) -> AsyncIterator[Breakers]:
    made = Breakers(redis_url)
    yield made
    for breaker in made.made:
        await breaker.close_connection()


async def opened(*breakers: RedisBreaker) -> None:
    for n in range(RULES.failures):
        await breakers[n % len(breakers)].failed(HAIKU)


async def test_failures_of_all_processes_are_one_row(breakers: Breakers) -> None:
    one, other, third = (breakers.another() for _ in range(3))

    for n in range(RULES.failures - 1):
        await (one, other)[n % 2].failed(HAIKU)
    assert await one.admits(HAIKU)
    await other.failed(HAIKU)

    assert [await breaker.admits(HAIKU) for breaker in (one, other, third)] == [False] * 3
    assert await third.admits(SONNET)
    assert await breakers.states(SONNET) == {str(HAIKU): State.OPEN, str(SONNET): State.CLOSED}


async def test_a_process_that_found_it_well_learns_of_it_soon(breakers: Breakers) -> None:
    clock = FrozenClock()
    one, other = breakers.another(), breakers.another(clock=clock)
    assert await other.admits(HAIKU)
    await opened(one)

    clock.move(BELIEVED_SECONDS)

    assert not await other.admits(HAIKU)


async def test_one_call_of_all_processes_finds_out_and_its_answer_closes_it_for_all(breakers: Breakers) -> None:
    one, other = breakers.another(), breakers.another()
    await opened(one)
    breakers.time_passes()
    assert await breakers.states() == {str(HAIKU): State.HALF_OPEN}

    assert [await breaker.admits(HAIKU) for breaker in (other, one, other)] == [True, False, False]
    await other.answered(HAIKU)

    assert [await breaker.admits(HAIKU) for breaker in (one, other)] == [True, True]
    assert await breakers.states() == {str(HAIKU): State.CLOSED}


async def test_its_failure_opens_it_again_for_longer(breakers: Breakers) -> None:
    one, other = breakers.another(), breakers.another()
    await opened(one)
    with Redis.from_url(breakers.url) as redis:
        first = redis.pttl(key_of(HAIKU, "open"))
        breakers.time_passes()
        assert await other.admits(HAIKU)
        await other.failed(HAIKU)
        second = redis.pttl(key_of(HAIKU, "open"))

    assert not await one.admits(HAIKU)
    assert (55_000 < first <= 60_000, second) == (True, pytest.approx(60_000, abs=5_000)), "a minute is the longest"


async def test_an_answer_in_between_begins_a_new_row(breakers: Breakers) -> None:
    one, other = breakers.another(), breakers.another()
    for _ in range(RULES.failures - 1):
        await one.failed(HAIKU)
    assert await other.admits(HAIKU)
    await other.answered(HAIKU)
    await one.failed(HAIKU)

    assert await one.admits(HAIKU)


async def test_without_redis_each_process_counts_for_itself(breakers: Breakers) -> None:
    clock = FrozenClock()
    alone, other = breakers.another(NOWHERE, clock), breakers.another(NOWHERE, clock)
    await opened(alone)
    assert (await alone.admits(HAIKU), await other.admits(HAIKU)) == (False, True)

    clock.move(60)
    assert [await alone.admits(HAIKU) for _ in range(2)] == [True, False]
    await alone.answered(HAIKU)
    assert await alone.admits(HAIKU)


async def test_what_nobody_can_tell_is_not_shown() -> None:
    states = BreakerStates(NOWHERE, SystemClock(), [HAIKU])

    assert dict(await states.look()) == {}
    await states.close()


async def test_it_is_wiped_with_redis_and_found_again(breakers: Breakers) -> None:
    one = breakers.another()
    await opened(one)
    with Redis.from_url(breakers.url) as redis:
        redis.flushdb()
    assert await one.admits(HAIKU)

    await opened(one)

    assert not await one.admits(HAIKU)
