"""A Redis that hangs, which no connection notices, costs one caller a moment and the others nothing."""

import asyncio
import os
import signal
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager

import pytest
from redis import Redis

from schemas.jobs import AutoReply
from tests.fakes import HAIKU
from tests.servers import server_folder
from workers.adapters.clock import SystemClock
from workers.adapters.redis.courier import RedisCourier
from workers.adapters.redis.gate import RedisGate
from workers.adapters.redis.patience import ASK_SECONDS, AWAY_SECONDS
from workers.runtime import wire
from workers.runtime.embedded import EmbeddedValkey

HINT = AutoReply(job=1, conversation=1)
IN_NO_TIME = 0.3


@pytest.fixture
def valkey() -> Iterator[EmbeddedValkey]:
    with server_folder() as folder, EmbeddedValkey(folder / "valkey") as running:
        yield running


@pytest.fixture
async def courier(valkey: EmbeddedValkey) -> AsyncIterator[RedisCourier]:
    made = RedisCourier(valkey.redis_url)
    yield made
    await made.close()


@contextmanager
def hanging(valkey: EmbeddedValkey) -> Iterator[None]:
    assert valkey.pid is not None
    os.kill(valkey.pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(valkey.pid, signal.SIGCONT)


async def pushing(courier: RedisCourier) -> float:
    """Seconds."""
    began = time.monotonic()
    await courier.push([HINT])
    return time.monotonic() - began


def waiting(valkey: EmbeddedValkey) -> int:
    with Redis.from_url(valkey.redis_url) as redis:
        return int(redis.llen(wire.list_key("reply")))  # type: ignore[arg-type]


async def test_only_the_first_push_waits_and_then_one_at_a_time(valkey: EmbeddedValkey, courier: RedisCourier) -> None:
    await courier.push([HINT])
    with hanging(valkey):
        first, second, third = [await pushing(courier) for _ in range(3)]
        await asyncio.sleep(AWAY_SECONDS)
        later = sorted(await asyncio.gather(*(pushing(courier) for _ in range(5))))

    assert first < ASK_SECONDS + IN_NO_TIME
    assert max(second, third, *later[:-1]) < IN_NO_TIME
    assert later[-1] > ASK_SECONDS - IN_NO_TIME, "somebody has to find out whether it is back"


async def test_once_it_is_back_it_is_pushed_to_again(valkey: EmbeddedValkey, courier: RedisCourier) -> None:
    with hanging(valkey):
        await courier.push([HINT])
    await courier.push([HINT])
    before = waiting(valkey)
    await asyncio.sleep(AWAY_SECONDS)
    for _ in range(3):
        await courier.push([HINT])

    assert waiting(valkey) == before + 3


async def test_a_clocks_courier_tries_as_soon_as_its_redis_answers(valkey: EmbeddedValkey) -> None:
    courier = RedisCourier.of_a_clock(valkey.redis_url)
    with hanging(valkey):
        await courier.push([HINT])
    before = waiting(valkey)
    await courier.push([HINT])
    await courier.close()

    assert waiting(valkey) == before + 1


async def test_only_the_first_call_of_a_model_waits_for_its_gate(valkey: EmbeddedValkey) -> None:
    gate = RedisGate(valkey.redis_url, SystemClock(), 1)
    await gate.wait(HAIKU)
    with hanging(valkey):
        seconds = []
        for _ in range(3):
            began = time.monotonic()
            await gate.wait(HAIKU)
            seconds.append(time.monotonic() - began)
    await gate.close_connection()

    assert seconds[0] < ASK_SECONDS + IN_NO_TIME
    assert max(seconds[1:]) < IN_NO_TIME
