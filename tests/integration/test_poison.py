"""A job that kills whatever worker takes it: it is given up after the third, and takes nobody with it."""

import asyncio
import time
from collections.abc import Iterator
from typing import Any

import psutil
import psycopg
import pytest

from tests import servers
from tests.integration.own import simulator
from tests.scripts import bubbles, done, heard
from tests.simulator import RunningSimulator
from tests.stack import Stack, Talk, running_stack, wait_until
from tests.upstream import Receiver
from workers.simulator.control import SimulatorControl

__all__ = ["simulator"]

LEASES = {"REPLIQUE_QUEUE__LEASE_SECONDS": "3", "REPLIQUE_QUEUE__RENEW_SECONDS": "0.5"}
THINKS_SECONDS = 4
"""Of the neighbours: no step of theirs is saved before their worker dies."""

pytestmark = pytest.mark.timeout(600)


@pytest.fixture(scope="module")
def database_url(postgres_server: str, database_template: str) -> Iterator[str]:
    with servers.database(postgres_server, database_template) as url:
        yield url


@pytest.fixture(scope="module")
def stack(database_url: str, redis_server: str, simulator: RunningSimulator, receiver: Receiver) -> Iterator[Stack]:
    redis_url = servers.with_redis_database(redis_server, 12)
    servers.flush(redis_url)
    with running_stack(database_url, redis_url, simulator.base_url, receiver, **LEASES) as running:
        yield running


def rows(database_url: str, sql: str) -> list[tuple[Any, ...]]:
    with psycopg.connect(database_url) as connection:
        return connection.execute(sql.encode()).fetchall()


def of_own(stack: Stack) -> list[psutil.Process]:
    """The processes that the reply worker has started for one job each, and that have not ended."""
    children = psutil.Process(stack.children["reply"].pid).children()
    return [process for process in children if "workers.alone" in words_of(process)]


def words_of(process: psutil.Process) -> list[str]:
    """Its command line; empty once it has ended, whether or not its parent has read how."""
    try:
        return process.cmdline()
    except (psutil.NoSuchProcess, psutil.ZombieProcess):
        return []


async def until_asked(model: SimulatorControl, talks: list[Talk], before: dict[str, int]) -> None:
    """Each of these has asked the model once more than `before`."""
    deadline = time.monotonic() + 180
    while any([len(await heard(model, talk.marker)) <= before[talk.name] for talk in talks]):
        if time.monotonic() > deadline:
            raise AssertionError(f"not everybody asked the model again: {before} {await asked(model, talks)}")
        await asyncio.sleep(0.5)


async def asked(model: SimulatorControl, talks: list[Talk]) -> dict[str, int]:
    return {talk.name: len(await heard(model, talk.marker)) for talk in talks}


async def test_a_poison_job_is_given_up_and_its_neighbours_are_answered(
    stack: Stack, database_url: str, model: SimulatorControl
) -> None:
    poison = stack.organization()
    neighbours = [poison.another()]
    everybody = [poison, *neighbours]
    await model.script({"text": "never heard", "delay": 100}, match=poison.marker, task="reply", repeat=True)
    for talk in neighbours:
        slow = [bubbles("Me voilà.", delay=THINKS_SECONDS)] * 2
        await model.script(*slow, bubbles("Me voilà.", delay=THINKS_SECONDS), done(), match=talk.marker, task="reply")
    before = await asked(model, everybody)
    jobs = {talk.name: talk.say("salut")["job"] for talk in everybody}
    for _ in range(2):
        await until_asked(model, everybody, before)
        before = await asked(model, everybody)
        stack.children["reply"].kill()
        stack.children["reply"].wait(10)
        stack.start("reply", "worker", "--queues", "reply,background", REPLIQUE_INSTANCE="reply-1")
    await until_asked(model, [poison], before)
    alone = of_own(stack)
    number = int(jobs[poison.name].split("_")[1])
    (killer,) = [process for process in alone if str(number) in words_of(process)[-2:-1]]
    killer.kill()

    failed = poison.ended(jobs[poison.name], "failed", seconds=60)
    answered = [talk.ended(jobs[talk.name], seconds=90) for talk in neighbours]

    assert (len(alone) <= 2, failed["code"], failed["attempts"]) == (True, "AR-571", 3)
    assert [(job["state"], job["code"]) for job in answered] == [("sent", None)]
    assert [talk.texts() for talk in neighbours] == [["Me voilà."]]
    assert rows(database_url, "SELECT code FROM dead_letters") == [("AR-571",)]
    wait_until(lambda: not of_own(stack) or None, 20, "the processes of their own to end")
    assert stack.children["reply"].poll() is None


@pytest.mark.slow
async def test_a_job_that_runs_alone_is_given_back_when_its_worker_is_stopped(
    stack: Stack, database_url: str, model: SimulatorControl
) -> None:
    talk = stack.organization()
    slow = bubbles("Toujours là.", delay=20)
    await model.script(slow, bubbles("Toujours là."), done(), match=talk.marker, task="reply")
    quiet = "UPDATE jobs SET crashes = 2 WHERE id = {} AND state = 'queued' RETURNING id"
    late = stack.organization(debounce={"quiet_seconds": 1, "max_wait_seconds": 2})
    talk = Talk(stack, late.org, late.name, talk.marker)
    job = talk.say("salut")["job"]
    assert rows(database_url, quiet.format(job.split("_")[1])) != []
    await until_asked(model, [talk], {talk.name: 0})
    assert len(of_own(stack)) == 1

    code = stack.stop("reply")
    given_back = rows(database_url, f"SELECT state, crashes FROM jobs WHERE id = {job.split('_')[1]}")
    stack.start("reply", "worker", "--queues", "reply,background", REPLIQUE_INSTANCE="reply-1")

    assert (code, given_back) == (0, [("queued", 0)])
    assert talk.ended(job, seconds=60)["state"] == "sent"


@pytest.mark.slow
async def test_a_process_that_hangs_is_ended_once_its_job_has_failed_without_it(
    stack: Stack, database_url: str, model: SimulatorControl
) -> None:
    late = stack.organization(debounce={"quiet_seconds": 1, "max_wait_seconds": 2})
    await model.script(bubbles("Jamais.", delay=100), match=late.marker, task="reply")
    job = late.say("salut")["job"]
    number = job.split("_")[1]
    assert rows(database_url, f"UPDATE jobs SET crashes = 2 WHERE id = {number} AND state = 'queued' RETURNING id")
    await until_asked(model, [late], {late.name: 0})
    (hung,) = of_own(stack)
    hung.suspend()  # as if a line of its had never come back: it renews nothing, and hears no SIGTERM

    failed = late.ended(job, "failed", seconds=60)
    assert (failed["code"], hung.is_running()) == ("AR-571", True)
    wait_until(lambda: not of_own(stack) or None, 75, "the process that hangs to end")
