"""Worker and clock as processes of their own: a message becomes a delivered reply; killed, stopped, cut off."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.builders_storage import Storage, a_storage
from tests.receiver import Receiver, receiving, silence, status
from tests.servers import server_folder
from tests.simulator import RunningSimulator, running_simulator
from tests.workers import keys, send_raw
from workers.runtime.embedded import EmbeddedValkey

ROOT = Path(__file__).parents[2]
SECRET = "whsec_" + "c2VjcmV0LXNlY3JldC1zZWNyZXQtc2VjcmV0"


@pytest.fixture
def simulator() -> Iterator[RunningSimulator]:
    with running_simulator(latency=0.2) as running:
        yield running


@pytest.fixture
def environment(database_url: str, redis_url: str, simulator: RunningSimulator) -> dict[str, str]:
    return {
        "DATABASE_URL": database_url,
        "REDIS_URL": redis_url,
        "ANTHROPIC_BASE_URL": simulator.base_url,
        "REPLIQUE_ALLOW_PRIVATE_URLS": "true",
        "REPLIQUE_LOG_JSON": "true",
        "REPLIQUE_QUEUE__LEASE_SECONDS": "3",
        "REPLIQUE_QUEUE__RENEW_SECONDS": "0.5",
        "REPLIQUE_QUEUE__DRAIN_SECONDS": "5",
        "PATH": "/usr/bin:/bin",
    }


@contextmanager
def process(environment: dict[str, str], *arguments: str) -> Iterator["subprocess.Popen[bytes]"]:
    command = [sys.executable, "-m", "tests.worker_process", *arguments]
    with subprocess.Popen(command, cwd=ROOT, env=environment) as running:
        try:
            yield running
        finally:
            if running.poll() is None:
                running.send_signal(signal.SIGTERM)
            try:
                running.wait(30)
            finally:
                running.kill()


async def until(true: Callable[[], Any], seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while not await asyncio.to_thread(true):
        assert time.monotonic() < deadline, "it did not happen in time"
        await asyncio.sleep(0.02)


@asynccontextmanager
async def storage_for(database_url: str, receiver: Receiver) -> AsyncIterator[Storage]:
    webhook = {"url": receiver.url, "secret": SECRET}
    async with a_storage(database_url, organization={"webhook": webhook}) as storage:
        yield storage


async def test_a_message_becomes_a_delivered_reply_and_both_processes_end_well(
    database_url: str, environment: dict[str, str]
) -> None:
    async with receiving(*[status(200)] * 8) as receiver, storage_for(database_url, receiver) as storage:
        with process(environment, "clock") as clock, process(environment, "worker") as worker:
            await storage.say()
            await until(lambda: receiver.heard)
            await settled(storage)
            worker.send_signal(signal.SIGTERM)
            clock.send_signal(signal.SIGTERM)
            codes = await asyncio.to_thread(worker.wait, 30), await asyncio.to_thread(clock.wait, 30)
        job = await storage.job()

    assert (job["state"], job["code"], codes) == ("sent", None, (0, 0))
    assert json.loads(receiver.heard[0][1])["type"] == "message.send"


async def settled(storage: Storage, seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while (job := await storage.job())["state"] not in {"sent", "failed", "silent"}:
        assert time.monotonic() < deadline, dict(job)
        await asyncio.sleep(0.02)


async def test_a_killed_child_is_put_back_and_its_run_goes_on_at_once(
    database_url: str, environment: dict[str, str], simulator: RunningSimulator
) -> None:
    environment |= {"REPLIQUE_QUEUE__LEASE_SECONDS": "60"}  # nobody waits for it to be over
    async with receiving(*[status(200)] * 8) as receiver, storage_for(database_url, receiver) as storage:
        with process(environment, "clock"), process(environment, "worker", "reply,send", "2") as parent:
            await a_slow_call(storage, simulator, seconds=20)
            os.kill(the_child(parent.pid, (await storage.job())["leased_by"]), signal.SIGKILL)
            killed = time.monotonic()
            await settled(storage)
            seconds = time.monotonic() - killed
            parent.send_signal(signal.SIGTERM)
            code = await asyncio.to_thread(parent.wait, 30)
        job = await storage.job()

    assert (job["state"], job["claims"], code) == ("sent", 2, 0)
    assert seconds < 30


@pytest.mark.slow
async def test_a_run_that_outlasts_the_drain_is_given_back_and_finished_by_another(
    database_url: str, environment: dict[str, str], simulator: RunningSimulator
) -> None:
    environment |= {"REPLIQUE_QUEUE__DRAIN_SECONDS": "0.5", "REPLIQUE_QUEUE__LEASE_SECONDS": "60"}
    async with receiving(*[status(200)] * 8) as receiver, storage_for(database_url, receiver) as storage:
        with process(environment, "clock"):
            with process(environment, "worker") as first:
                await a_slow_call(storage, simulator, seconds=20)
                first.send_signal(signal.SIGTERM)
                code = await asyncio.to_thread(first.wait, 30)
            given_back = await storage.job()
            with process(environment, "worker"):
                await settled(storage)
        job = await storage.job()

    assert (code, given_back["state"], given_back["crashes"]) == (0, "queued", 0)
    assert (job["state"], job["claims"]) == ("sent", 2)


async def test_a_post_that_outlasts_the_drain_is_repeated_under_its_id(
    database_url: str, environment: dict[str, str]
) -> None:
    environment |= {"REPLIQUE_QUEUE__DRAIN_SECONDS": "0.5", "REPLIQUE_QUEUE__LEASE_SECONDS": "60"}
    async with receiving(silence(20), *[status(200)] * 8) as receiver, storage_for(database_url, receiver) as storage:
        with process(environment, "clock"):
            with process(environment, "worker") as first:
                await storage.say()
                await until(lambda: receiver.heard)
                first.send_signal(signal.SIGTERM)
                code = await asyncio.to_thread(first.wait, 30)
            delivery = await storage.row("SELECT state, ambiguous FROM deliveries")
            with process(environment, "worker"):
                await settled(storage)

    assert (code, delivery) == (0, {"state": "waiting", "ambiguous": True})
    assert len({headers["webhook-id"] for headers, _ in receiver.heard[:2]}) == 1


async def test_a_clock_that_is_stopped_under_load_leaves_nothing_behind(
    database_url: str, environment: dict[str, str]
) -> None:
    async with receiving(*[status(200)] * 99) as receiver, storage_for(database_url, receiver) as storage:
        with process(environment, "worker"), process(environment, "clock") as first:
            for number in range(1, 11):
                await storage.say(f"m-{number}", conversation=f"c-{number}")
            await until(lambda: receiver.heard)
            first.send_signal(signal.SIGTERM)
            for number in range(11, 21):
                await storage.say(f"m-{number}", conversation=f"c-{number}")
            code = await asyncio.to_thread(first.wait, 30)
            with process(environment, "clock"):
                await all_settled(storage, 20)
        jobs = await storage.rows("SELECT DISTINCT state, crashes FROM jobs")

    sent = [headers["webhook-id"] for headers, _ in receiver.heard]
    assert (code, jobs) == (0, [{"state": "sent", "crashes": 0}])
    assert len(sent) == len(set(sent))


async def test_redis_may_die_and_come_back_empty(database_url: str, environment: dict[str, str]) -> None:
    with server_folder() as folder, EmbeddedValkey(folder / "valkey") as valkey:
        environment |= {"REDIS_URL": valkey.redis_url}
        async with receiving(*[status(200)] * 99) as receiver, storage_for(database_url, receiver) as storage:
            with process(environment, "clock"), process(environment, "worker"):
                await storage.say("m-1")
                await settled(storage)
                assert valkey.pid is not None
                os.kill(valkey.pid, signal.SIGKILL)
                for number in range(2, 12):
                    await storage.say(f"m-{number}", conversation=f"c-{number}")
                await asyncio.sleep(1)
                await asyncio.to_thread(valkey.start)
                back = time.monotonic()
                await all_settled(storage, 11)
                seconds = time.monotonic() - back
            jobs = await storage.rows("SELECT state FROM jobs")

    assert [job["state"] for job in jobs] == ["sent"] * 11
    assert seconds < 30


async def test_a_malformed_hint_is_a_dead_letter_in_the_database(
    database_url: str, redis_url: str, environment: dict[str, str]
) -> None:
    async with receiving() as receiver, storage_for(database_url, receiver) as storage:
        with process(environment, "worker"):
            send_raw(redis_url, "reply", b'{"actor_name": "auto_reply", "args": [{"job": "\\u0000"}]}')
            await until(lambda: not keys(redis_url))
            await until_rows(storage, "SELECT source, state, code FROM dead_letters")
        letters = await storage.rows("SELECT source, state, code, error, payload FROM dead_letters")

    assert letters == [
        {
            "source": "queue",
            "state": "open",
            "code": "AR-570",
            "error": "auto_reply is malformed: conversation, job",
            "payload": {
                "queue": "reply",
                "message": '{"actor_name": "auto_reply", "args": [{"job": "[1 characters]"}]}',
                "whole": False,
            },
        }
    ]


async def a_slow_call(storage: Storage, simulator: RunningSimulator, seconds: float) -> None:
    """A message whose first model call takes so long, once it has begun."""
    async with simulator.control() as control:
        await control.fault("slow", next=1, delay=seconds)
        await storage.say()
        deadline = time.monotonic() + 30
        while not await control.requests():
            assert time.monotonic() < deadline
            await asyncio.sleep(0.05)


def the_child(parent: int, name: str) -> int:
    """Children are numbered in the order of their start."""
    children = Path(f"/proc/{parent}/task/{parent}/children").read_text().split()
    return sorted(map(int, children))[int(name.rpartition(".")[2]) - 1]


async def until_rows(storage: Storage, sql: str, count: int = 1, seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while len(found := await storage.rows(sql)) != count:
        assert time.monotonic() < deadline, found
        await asyncio.sleep(0.02)


async def all_settled(storage: Storage, count: int) -> None:
    await until_rows(storage, "SELECT id FROM jobs WHERE state IN ('sent', 'failed', 'silent')", count, 60)
