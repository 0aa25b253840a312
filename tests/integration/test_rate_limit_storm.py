"""A provider says 429 to many conversations at once: nothing fails, nobody asks meanwhile, and then little by little.

Two reply workers share what they hear through Redis, which is wiped in the middle. The long form is slow.
"""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import psycopg
import pytest
from redis import Redis

from schemas.groups import WorkerSettings
from tests import servers
from tests.integration.own import simulator
from tests.simulator import RunningSimulator
from tests.stack import Stack, Talk, stack_on_a_database, wait_until
from tests.upstream import SECRET, Receiver
from workers.adapters.llm.headers import CALL_HEADER
from workers.simulator.control import SeenRequest

__all__ = ["simulator"]

STEP = 1.0
RAMP = {"REPLIQUE_LLM__RAMP_SECONDS": str(STEP)}
WITH_WORKERS = 2 * WorkerSettings().threads
"""Jobs that the workers may have in hand when the first 429 comes back: their calls are not called back."""


@dataclass
class Ground:
    stack: Stack
    database_url: str
    redis_url: str

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        with psycopg.connect(self.database_url) as connection:
            return connection.execute(sql.encode()).fetchall()


@pytest.fixture
def ground(
    postgres_server: str, database_template: str, redis_server: str, simulator: RunningSimulator, receiver: Receiver
) -> Iterator[Ground]:
    redis_url = servers.with_redis_database(redis_server, 13)
    model_url = simulator.base_url
    with stack_on_a_database(postgres_server, database_template, redis_url, model_url, receiver, **RAMP) as stack:
        log = stack.logs / "reply-2.log"
        stack.start("reply-2", "worker", "--queues", "reply,background", REPLIQUE_INSTANCE="reply-2")
        wait_until(lambda: "worker_started" in log.read_text(errors="replace") or None, 60, "the second worker")
        yield Ground(stack, stack.database_url, redis_url)


@pytest.mark.parametrize(
    ("conversations", "retry_after"), [(40, 10), pytest.param(200, 60, marks=pytest.mark.slow)], ids=["short", "long"]
)
@pytest.mark.timeout(400)
async def test_a_storm_of_429_fails_nothing_and_is_not_answered_by_a_herd(
    ground: Ground, simulator: RunningSimulator, conversations: int, retry_after: int
) -> None:
    first = ground.stack.organization()
    first.call("POST", "/v1/apply", json={"resources": [unbounded(first)]}, status=200)
    talks = [first, *(first.another() for _ in range(conversations - 1))]
    async with simulator.control() as model:
        await model.reset()
        await model.fault("rate_limited", seconds=retry_after * 0.9, retry_after=retry_after, real_time=True)
        with ThreadPoolExecutor(8) as pool:
            jobs = [said["job"] for said in pool.map(lambda talk: talk.say("coucou"), talks)]
        parked = "SELECT 1 FROM jobs WHERE state = 'queued' AND reason = 'rate_limited' AND parked_until IS NOT NULL"
        wait_until(lambda: len(ground.rows(parked)) == conversations or None, retry_after * 0.8, "all are parked")
        held_threads = ground.rows("SELECT 1 FROM jobs WHERE lease_until IS NOT NULL")
        with Redis.from_url(ground.redis_url) as redis:
            redis.flushdb()
        for talk, job in zip(talks, jobs, strict=True):
            ended(talk, job, seconds=retry_after + 120)
        seen = await model.requests()

    kept = {call for (call,) in ground.rows("SELECT call FROM ledger")}
    assert kept == {request.headers[CALL_HEADER] for request in seen}, "one row for each attempt, none for the gate"
    assert len(kept) == len(seen)
    asked = sorted(seconds_of(request) for request in seen)
    refused = [seconds_of(request) for request in seen if request.fault == "rate_limited"]
    opens = max(refused) + retry_after
    by_step = [sum(1 for at in asked if 0 <= at - opens < STEP * steps) for steps in range(1, 6)]
    meanwhile = [r for r in seen if min(refused) < seconds_of(r) < opens - 0.1]
    taken_up, shut_at = claims_of_calls(ground)
    behind = sorted(round(taken_up[request.headers[CALL_HEADER]] - shut_at, 2) for request in meanwhile)
    print(f"{len(seen)} requests, {len(refused)} refused, in the first steps {by_step}, claims {claims(ground)}")
    print(f"{len(meanwhile)} while it was shut; their jobs were taken up {behind} s after that")
    assert held_threads == []
    assert len(meanwhile) <= WITH_WORKERS
    assert [late for late in behind if late > 0] == [], "taken up after the gate was shut, and asked all the same"
    # Steps are counted here from when the simulator answered, there from when the worker heard it: half a step's slack.
    assert all(made <= 2 ** (steps + 1) - 1 for steps, made in enumerate(by_step, start=1)), by_step
    assert ground.rows("SELECT id FROM jobs WHERE state <> 'sent' OR tries > 0 OR crashes > 0") == []
    assert ground.rows("SELECT call FROM ledger WHERE state <> 'settled'") == []


def seconds_of(request: SeenRequest) -> float:
    return datetime.fromisoformat(request.time).timestamp()


def claims_of_calls(ground: Ground) -> tuple[dict[str, float], float]:
    """When the job of each call was taken up last before it, and when the first refused call was put down: the gate is
    shut by then. Epoch seconds of the database."""
    rows = ground.rows(
        "SELECT l.call, max(e.at), l.settled_at, l.outcome FROM ledger l "
        "JOIN job_events e ON e.job_id = l.job_id AND e.why IN ('claimed', 'reclaimed') AND e.at <= l.at "
        "GROUP BY l.call"
    )
    shut = min(settled.timestamp() for _, _, settled, outcome in rows if outcome == "rate_limited")
    return {call: claimed.timestamp() for call, claimed, _, _ in rows}, shut


def unbounded(talk: Talk) -> dict[str, Any]:
    """The organisation, with as many jobs in flight as workers take."""
    webhook = {"url": talk.stack.receiver.url, "secret": SECRET}
    return {"kind": "Organization", "name": talk.org, "webhook": webhook, "limits": {"in_flight": 500}}


def ended(talk: Talk, job: str, seconds: float) -> None:
    assert talk.ended(job, seconds=seconds)["code"] is None


def claims(ground: Ground) -> int:
    return int(ground.rows("SELECT sum(claims) FROM jobs")[0][0])
