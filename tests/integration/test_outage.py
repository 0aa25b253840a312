"""A provider is down in the middle of many conversations: all end, none fails. The long forms are slow.

Two reply workers share what they see fail through Redis. Half of the conversations are thinking as it begins.
"""

import threading
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import httpx2
import psycopg
import pytest

from tests import servers
from tests.integration.own import simulator
from tests.simulator import RunningSimulator
from tests.stack import Stack, Talk, stack_on_a_database, wait_until
from tests.upstream import SECRET, Receiver
from workers.simulator.control import SeenRequest, SimulatorControl

__all__ = ["simulator"]

QUICK = {"REPLIQUE_LLM__BREAKER_SECONDS": "1"}


@dataclass
class Ground:
    stack: Stack
    database_url: str
    over: threading.Event = field(default_factory=threading.Event)

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        with psycopg.connect(self.database_url) as connection:
            return connection.execute(sql.encode()).fetchall()

    def watched(self) -> dict[str, int]:
        """The worst state of each model's breaker until all is over."""
        worst: dict[str, int] = {}
        while not self.over.wait(0.1):
            worst = {name: max(state, worst.get(name, 0)) for name, state in self.breakers().items()}
        return worst

    def breakers(self) -> dict[str, int]:
        """By model, as /metrics shows them."""
        lines = httpx2.get(self.stack.url + "/metrics", timeout=20).text.splitlines()
        shown = [line for line in lines if line.startswith("replique_ai_breaker_state{")]
        return {line.split('model="')[1].split('"')[0]: int(float(line.rsplit(" ", 1)[1])) for line in shown}


@pytest.fixture
def ground(
    request: pytest.FixtureRequest,
    postgres_server: str,
    database_template: str,
    redis_server: str,
    simulator: RunningSimulator,
    receiver: Receiver,
) -> Iterator[Ground]:
    redis_url = servers.with_redis_database(redis_server, 12)
    settings = {**QUICK, **request.param}
    if settings.pop("both", False):
        settings["OPENAI_BASE_URL"] = f"{simulator.base_url}/v1"
    model_url = simulator.base_url
    with stack_on_a_database(postgres_server, database_template, redis_url, model_url, receiver, **settings) as stack:
        log = stack.logs / "reply-2.log"
        stack.start("reply-2", "worker", "--queues", "reply,background", REPLIQUE_INSTANCE="reply-2")
        wait_until(lambda: "worker_started" in log.read_text(errors="replace") or None, 60, "the second worker")
        yield Ground(stack, stack.database_url)


async def talked(
    ground: Ground, model: SimulatorControl, conversations: int, seconds: float, kind: str
) -> tuple[list[SeenRequest], dict[str, int]]:
    """Everybody has been answered; what the simulator saw, and the worst state of each breaker while it was down."""
    await model.reset()
    first = ground.stack.organization()
    first.call("POST", "/v1/apply", json={"resources": [unbounded(first)]}, status=200)
    talks = [first, *(first.another() for _ in range(conversations - 1))]
    half = conversations // 2
    with ThreadPoolExecutor(8) as pool:
        jobs = [said["job"] for said in pool.map(lambda talk: talk.say("coucou, ça va ?"), talks[:half])]
        thinking = "SELECT 1 FROM run_steps"
        wait_until(lambda: len(ground.rows(thinking)) >= half // 2 or None, 60, "the first ones think")
        watching = pool.submit(ground.watched)
        try:
            await model.fault(kind, seconds=seconds, model="claude", real_time=True)
            jobs += [said["job"] for said in pool.map(lambda talk: talk.say("coucou, ça va ?"), talks[half:])]
            for talk, job in zip(talks, jobs, strict=True):
                assert talk.ended(job, seconds=seconds + 200)["code"] is None
        finally:
            ground.over.set()
        worst = watching.result(60)
    return await model.requests(), worst


def unbounded(talk: Talk) -> dict[str, Any]:
    """The organisation, with as many jobs in flight as workers take."""
    webhook = {"url": talk.stack.receiver.url, "secret": SECRET}
    return {"kind": "Organization", "name": talk.org, "webhook": webhook, "limits": {"in_flight": 500}}


def answered_well(ground: Ground, seen: list[SeenRequest]) -> None:
    """Nobody failed, and each attempt has exactly one row of the ledger, of its own model."""
    assert ground.rows("SELECT id, state, code FROM jobs WHERE state <> 'sent'") == []
    assert [request.refused for request in seen if request.refused] == []
    rows = {call: (model, outcome) for call, model, outcome in ground.rows("SELECT call, model, outcome FROM ledger")}
    asked = {request.headers["x-replique-call"]: request for request in seen}
    assert len(asked) == len(seen), "no call id was used twice"
    assert set(rows) == set(asked)
    assert {call: model for call, (model, _) in rows.items()} == {call: r.model for call, r in asked.items()}
    well = {call for call, (_, outcome) in rows.items() if outcome == "ok"}
    assert well == {call for call, request in asked.items() if request.fault is None}


@pytest.mark.parametrize("ground", [{"both": True}], indirect=True, ids=["fallback"])
@pytest.mark.parametrize(
    ("conversations", "seconds", "kind"),
    [
        (24, 6, "overloaded"),
        pytest.param(100, 120, "server_error", marks=pytest.mark.slow),
        pytest.param(100, 120, "cut_before", marks=pytest.mark.slow),
    ],
    ids=["short", "long", "long-cut"],
)
@pytest.mark.timeout(500)
async def test_another_provider_stands_in_and_nobody_waits_for_the_end_of_the_outage(
    ground: Ground, simulator: RunningSimulator, conversations: int, seconds: float, kind: str
) -> None:
    async with simulator.control() as model:
        seen, worst = await talked(ground, model, conversations, seconds, kind)

    answered_well(ground, seen)
    by_model = Counter(request.model for request in seen if request.fault is None)
    failed = sum(request.fault is not None for request in seen)
    print(f"{len(seen)} requests, {failed} failed, answered by {dict(by_model)}, breakers {worst}")
    assert by_model["gpt-6-luna"] > 0
    assert worst["claude-haiku-5-5"] == 2, "the breaker opened, and /metrics said so"
    assert worst.get("gpt-6-luna", 0) == 0
    # Those that were out or parked before it opened, and one call a pause after that.
    assert failed <= 2 * conversations + seconds, "a model that is down is left alone"


@pytest.mark.parametrize("ground", [{}], indirect=True, ids=["alone"])
@pytest.mark.parametrize(
    ("conversations", "seconds"), [(16, 6), pytest.param(100, 120, marks=pytest.mark.slow)], ids=["short", "long"]
)
@pytest.mark.timeout(600)
async def test_without_another_provider_all_are_answered_when_it_is_back(
    ground: Ground, simulator: RunningSimulator, conversations: int, seconds: float
) -> None:
    async with simulator.control() as model:
        seen, worst = await talked(ground, model, conversations, seconds, "server_error")

    answered_well(ground, seen)
    failed = sum(request.fault is not None for request in seen)
    print(
        f"{len(seen)} requests, {failed} failed, breakers {worst}, tries {ground.rows('SELECT max(claims) FROM jobs')}"
    )
    assert {request.model for request in seen} == {"claude-haiku-5-5"}
    assert worst["claude-haiku-5-5"] == 2
    assert failed <= 2 * conversations + seconds
