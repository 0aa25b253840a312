"""The queue's promises while servers and workers come and go: everything is answered, once and in order.

PostgreSQL and Valkey are this module's own, so that they may be wiped, killed and restarted. The long forms are slow.
"""

import os
import signal
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any

import httpx2
import psycopg
import pytest
from redis import Redis

from tests import servers
from tests.scripts import bubbles, done
from tests.simulator import running_simulator
from tests.stack import ADMIN_KEY, Stack, Talk, running_stack, wait_until
from tests.upstream import Receiver
from workers.runtime import wire
from workers.runtime.embedded import EmbeddedPostgres, EmbeddedValkey
from workers.simulator.control import SimulatorControl

pytestmark = pytest.mark.timeout(600)  # two servers and four processes are started first

ADDED_SECONDS = 3.0
LEASES = {"REPLIQUE_QUEUE__LEASE_SECONDS": "8", "REPLIQUE_QUEUE__RENEW_SECONDS": "1"}
"""Short, so that what an outage takes from a worker is taken up again within the test's patience."""


UNDER_WAY = "SELECT id FROM jobs WHERE state IN ('running', 'sending')"
WAITS_BETWEEN = "SELECT id FROM jobs WHERE state = 'sending' AND due_at > clock_timestamp()"


@dataclass
class Ground:
    """The running product on servers that a test may break."""

    stack: Stack
    postgres: EmbeddedPostgres
    valkey: EmbeddedValkey

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        with psycopg.connect(self.postgres.database_url) as connection:
            return connection.execute(sql.encode()).fetchall()

    def hints(self, queue: str) -> int:
        with Redis.from_url(self.valkey.redis_url) as redis:
            return int(redis.llen(wire.list_key(queue)))

    def talks(self, count: int, **persona: Any) -> list[Talk]:
        first = self.stack.organization(**persona)
        return [first, *(first.another() for _ in range(count - 1))]


@pytest.fixture(scope="module")
def ground(receiver: Receiver) -> Iterator[Ground]:
    with (
        servers.server_folder() as folder,
        EmbeddedPostgres(folder / "postgres", servers.FAST) as postgres,
        EmbeddedValkey(folder / "valkey") as valkey,
        running_simulator(latency=0.3) as simulator,
    ):
        servers.migrate(postgres.database_url)
        with running_stack(postgres.database_url, valkey.redis_url, simulator.base_url, receiver, **LEASES) as stack:
            yield Ground(stack, postgres, valkey)


@pytest.fixture
def model_url(ground: Ground) -> str:
    return ground.stack.environment["ANTHROPIC_BASE_URL"]


def event(job: dict[str, Any], why: str) -> float:
    """When it happened first."""
    return min(datetime.fromisoformat(e["at"]).timestamp() for e in job["events"] if e["why"] == why)


def all_answered(talks: list[Talk], seconds: float = 60) -> None:
    """Every job of each has ended, those too that were made meanwhile."""

    def ended(talk: Talk) -> Any:
        return all(job["outcome"] for job in talk.jobs()) or None

    for talk in talks:
        try:
            wait_until(partial(ended, talk), seconds, talk.name)
        except AssertionError:
            for log in talk.stack.logs.glob("*.log"):
                print(log.name, log.read_text(errors="replace")[-3000:])
            print([(name, child.poll()) for name, child in talk.stack.children.items()], talk.jobs())
            raise


def told_once(talk: Talk) -> None:
    """What the upstream app shows is what the jobs say was sent: nothing lost, nothing doubled, all in order."""
    jobs = [talk.job(job["id"]) for job in talk.jobs()]
    assert jobs[-1]["state"] == "sent", jobs[-1]
    sent = [(c["id"], c["text"]) for job in jobs for c in job["candidates"] if c["state"] == "sent"]
    assert [(bubble["id"], bubble["text"]) for bubble in talk.stack.receiver.applied(talk.name)] == sent
    assert sent


async def test_a_wiped_redis_loses_no_hint_of_what_is_queued_held_or_between_bubbles(
    ground: Ground, model_url: str
) -> None:
    quick = {"debounce": {"quiet_seconds": 0, "max_wait_seconds": 0}}
    (queued,) = ground.talks(1, debounce={"quiet_seconds": 600, "max_wait_seconds": 600})
    (held,) = ground.talks(1, **quick, control_window_seconds=600)
    (between,) = ground.talks(1, **quick, pacing={"base_ms": 600_000, "per_char_ms": 0, "jitter": 0})
    async with SimulatorControl(model_url) as model:
        for talk in (queued, held, between):
            await model.script(bubbles("un", "deux"), done(), match=talk.marker, task="reply")
    ids = {talk.name: talk.say("coucou")["job"] for talk in (queued, held, between)}
    held.reaches(ids[held.name], "held", 60)
    wait_until(lambda: ground.rows(WAITS_BETWEEN) or None, 60, "a job between its bubbles")

    with standing_still(ground, "reply", "send"):
        ground.rows("UPDATE jobs SET due_at = clock_timestamp() WHERE due_at IS NOT NULL RETURNING id")
        wait_until(lambda: (ground.hints("reply") == 1 and ground.hints("send") == 2) or None, 20, "three hints")
        with Redis.from_url(ground.valkey.redis_url) as redis:
            redis.flushall()
        assert [ground.hints(queue) for queue in ("reply", "send")] == [0, 0]
    wiped = time.time()
    jobs = {talk.name: talk.ended(ids[talk.name], seconds=60) for talk in (queued, held, between)}
    delays = {
        "queued": event(jobs[queued.name], "claimed") - wiped,
        "held": event(jobs[held.name], "window_closed") - wiped,
        "between": event(jobs[between.name], "next_bubble") - wiped,
    }

    for talk in (queued, held, between):
        told_once(talk)
        assert talk.texts() == ["un", "deux"]
    assert {name: delay for name, delay in delays.items() if delay > ADDED_SECONDS} == {}


@pytest.mark.parametrize("seconds", [3, pytest.param(20, marks=pytest.mark.slow)])
def test_without_redis_messages_are_taken_and_replies_follow_when_it_is_back(ground: Ground, seconds: float) -> None:
    talks = ground.talks(6)
    talks[0].say("avant")
    assert ground.valkey.pid is not None
    os.kill(ground.valkey.pid, signal.SIGKILL)
    began = time.monotonic()
    for talk in talks:
        talk.say("coucou")  # 202, or it fails
    while time.monotonic() - began < seconds:
        time.sleep(0.1)
    unanswered = [talk for talk in talks[1:] if not talk.texts()]
    ground.valkey.start()

    assert len(unanswered) == len(talks) - 1
    all_answered(talks)
    for talk in talks:
        told_once(talk)


@pytest.mark.parametrize("conversations", [4, pytest.param(20, marks=pytest.mark.slow)])
def test_workers_restarted_one_by_one_lose_no_run_and_double_none(ground: Ground, conversations: int) -> None:
    talks = ground.talks(conversations)
    codes = []
    with ThreadPoolExecutor(4) as pool:
        for name, queues in (("reply", "reply,background"), ("send", "send")):
            saying = [pool.submit(talk.say, f"message for {name}") for talk in talks]
            wait_until(lambda: ground.rows(UNDER_WAY) or None, 60, "work under way")
            codes.append(relieved(ground.stack, name, f"{name}-next", queues))
            codes.append(relieved(ground.stack, f"{name}-next", name, queues))
            assert all(said.result()["job"] for said in saying)
    all_answered(talks)

    assert codes == [0, 0, 0, 0]
    for talk in talks:
        told_once(talk)
    # A row that was taken from a dead worker says so; one that was given back in order does not.
    names = ", ".join(f"'{talk.name}'" for talk in talks)
    of_ours = f"conversation_id IN (SELECT id FROM conversations WHERE name IN ({names}))"
    assert ground.rows(f"SELECT id FROM job_events WHERE why = 'reclaimed' AND {of_ours}") == []
    assert ground.rows(f"SELECT id FROM jobs WHERE crashes > 0 AND {of_ours}") == []
    assert ground.rows(f"SELECT id FROM deliveries WHERE ambiguous AND {of_ours}") == []


def relieved(stack: Stack, old: str, new: str, queues: str) -> int:
    """The new one is up before the old one is told to stop. Answers the old one's exit code."""
    log = stack.logs / f"{new}.log"
    before = log.read_bytes().count(b"worker_started") if log.exists() else 0
    stack.start(new, "worker", "--queues", queues, REPLIQUE_INSTANCE=f"{new}-{before + 1}-again")
    wait_until(lambda: log.read_bytes().count(b"worker_started") > before or None, 90, f"{new} to start")
    return stack.stop(old)


@pytest.mark.parametrize("away", [1, pytest.param(20, marks=pytest.mark.slow)])
def test_postgresql_restarted_under_load_loses_nothing(ground: Ground, away: float) -> None:
    talks = ground.talks(8)
    with ThreadPoolExecutor(8) as pool:
        saying = [pool.submit(insist, talk, n) for n in range(3) for talk in talks]
        wait_until(lambda: ground.rows(UNDER_WAY) or None, 60, "work under way")
        ground.postgres.stop()
        time.sleep(away)
        ground.postgres.start()
        assert talks[0].jobs() is not None  # 200: whoever asks first after a restart is not the one who finds out
        assert [said.result() for said in saying]
    all_answered(talks, 90)

    stored = ground.rows("SELECT name FROM messages WHERE author = 'contact'")
    assert {f"{talk.name}-{n}" for talk in talks for n in range(3)} <= {name for (name,) in stored}
    for talk in talks:
        told_once(talk)


def insist(talk: Talk, number: int) -> Any:
    """As an upstream app does: again under the same id until it was taken."""
    body = {"id": f"{talk.name}-{number}", "conversation": talk.name, "persona": "maya", "author": "contact"}
    more = {"contact": {"id": f"fan-{talk.name}"}, "text": f"message {number} {talk.marker}"}
    headers = {"authorization": f"Bearer {ADMIN_KEY}", "x-organization": talk.org}

    def post() -> Any:
        answer = httpx2.post(f"{talk.stack.url}/v1/messages", json=body | more, headers=headers, timeout=30)
        assert answer.status_code in (202, 503), answer.text
        return answer.json() if answer.status_code == 202 else None

    return wait_until(post, 60, "202")


@contextmanager
def standing_still(ground: Ground, *names: str) -> Iterator[None]:
    """Processes of the stack, stopped in their tracks meanwhile."""
    pids = [ground.stack.children[name].pid for name in names]
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        for pid in pids:
            os.kill(pid, signal.SIGCONT)
