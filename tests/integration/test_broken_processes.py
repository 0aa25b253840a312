"""A worker that looks alive and does nothing ends by itself, and somebody else does its work."""

import asyncio
import os
import signal
import time
from pathlib import Path

import pytest

from tests.integration.test_processes import (
    a_slow_call,
    environment,
    process,
    settled,
    simulator,
    storage_for,
    the_child,
    until,
)
from tests.receiver import receiving, status
from tests.simulator import RunningSimulator

__all__ = ["environment", "simulator"]

BLOCK_THE_LOOP, END_THE_CONSUMERS = signal.SIGUSR1, signal.SIGUSR2


def children(parent: int) -> list[int]:
    return sorted(map(int, Path(f"/proc/{parent}/task/{parent}/children").read_text().split()))


@pytest.mark.parametrize("broken", [BLOCK_THE_LOOP, END_THE_CONSUMERS], ids=["blocked loop", "dead consumer"])
async def test_a_broken_child_ends_by_itself_is_replaced_and_its_run_goes_on(
    database_url: str, environment: dict[str, str], simulator: RunningSimulator, broken: signal.Signals
) -> None:
    environment |= {"REPLIQUE_QUEUE__DRAIN_SECONDS": "0.5"}
    async with receiving(*[status(200)] * 8) as receiver, storage_for(database_url, receiver) as storage:
        with process(environment, "clock"), process(environment, "worker", "reply,send", "2") as parent:
            await a_slow_call(storage, simulator, seconds=20)
            before = children(parent.pid)
            ill = the_child(parent.pid, (await storage.job())["leased_by"])
            os.kill(ill, broken)
            await until(lambda: ill not in children(parent.pid) and len(children(parent.pid)) == 2, 45)
            after = children(parent.pid)
            await settled(storage, 30)
            parent.send_signal(signal.SIGTERM)
            code = await asyncio.to_thread(parent.wait, 30)
        job = await storage.job()

    assert (set(before) - set(after), len(set(after) - set(before))) == ({ill}, 1)
    assert (job["state"], job["claims"], code) == ("sent", 2, 0)


async def test_a_blocked_worker_that_is_told_to_stop_ends(
    database_url: str, environment: dict[str, str], simulator: RunningSimulator
) -> None:
    environment |= {"REPLIQUE_QUEUE__DRAIN_SECONDS": "0.5"}
    async with receiving(*[status(200)] * 8) as receiver, storage_for(database_url, receiver) as storage:
        with process(environment, "clock"), process(environment, "worker") as worker:
            await a_slow_call(storage, simulator, seconds=20)
            worker.send_signal(BLOCK_THE_LOOP)
            worker.send_signal(signal.SIGTERM)
            told = time.monotonic()
            code = await asyncio.to_thread(worker.wait, 25)
            seconds = time.monotonic() - told

    assert code == 1
    assert seconds < 15
