"""Plans, budgets and the ledger through the queue, with real workers that are killed."""

import signal
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import psycopg
import pytest

from schemas.llm import Model, Usage
from tests import servers
from tests.integration.own import simulator
from tests.scripts import bubbles, call, done
from tests.simulator import RunningSimulator
from tests.stack import NUMBERS, Stack, Talk, stack_on_a_database, wait_until
from tests.upstream import SECRET, Receiver
from workers.adapters.llm.anthropic import CALL_HEADER
from workers.adapters.llm.prices import GenaiPrices
from workers.simulator.control import SeenRequest

__all__ = ["simulator"]

PLACES = 15
LIVE = "SELECT count(*) FROM jobs WHERE state IN ('queued', 'running', 'held', 'sending')"
ROUNDS = 2
"""In each, all reply workers die: a run is in one of them."""
SETTINGS = {"REPLIQUE_PLANS__PRO_REPLIES": str(PLACES), "REPLIQUE_PLANS__ENTERPRISE_REPLIES": "60"}


@dataclass
class Till:
    stack: Stack
    database_url: str

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        with psycopg.connect(self.database_url) as connection:
            return connection.execute(sql.encode()).fetchall()

    def number(self, sql: str) -> int:
        return int(self.rows(sql)[0][0])

    def organization(self, persona: dict[str, Any] | None = None, **fields: Any) -> Talk:
        name = f"org-{next(NUMBERS)}"
        self.stack.provision(name, fields, persona or {})
        return Talk(self.stack, name, f"{name}-c1")

    def start(self, name: str) -> None:
        log = self.stack.logs / f"{name}.log"
        said = log.read_text(errors="replace").count("worker_started") if log.exists() else 0
        self.stack.start(name, "worker", "--queues", "reply,background", REPLIQUE_INSTANCE=f"{name}-{time.time_ns()}")
        wait_until(lambda: log.read_text(errors="replace").count("worker_started") > said or None, 60, name)


@pytest.fixture(scope="module")
def till(
    postgres_server: str, database_template: str, redis_server: str, simulator: RunningSimulator, receiver: Receiver
) -> Iterator[Till]:
    redis_url = servers.with_redis_database(redis_server, 12)
    settings = {**SETTINGS, "REPLIQUE_QUEUE__LEASE_SECONDS": "4", "REPLIQUE_QUEUE__RENEW_SECONDS": "0.5"}
    model_url = simulator.base_url
    with stack_on_a_database(postgres_server, database_template, redis_url, model_url, receiver, **settings) as stack:
        till = Till(stack, stack.database_url)
        till.start("reply-2")
        yield till


def said(talks: list[Talk], text: str = "coucou") -> list[str]:
    with ThreadPoolExecutor(8) as pool:
        return [answer["job"] for answer in pool.map(lambda talk: talk.say(text), talks)]


@pytest.mark.timeout(180)
async def test_of_fifty_runs_at_once_ten_take_the_last_places(till: Till, simulator: RunningSimulator) -> None:
    first = till.organization(plan="pro", limits={"in_flight": 500})
    org = till.number(f"SELECT id FROM organizations WHERE name = '{first.org}'")
    state = f"SELECT count(*) FROM jobs WHERE org_id = {org} AND "
    early = [first, *(first.another() for _ in range(PLACES - 11))]
    for talk, job in zip(early, said(early), strict=True):
        talk.ended(job)
    talks = [first.another() for _ in range(50)]
    most = 0
    async with simulator.control() as model:
        # Nobody's run ends before everybody's was claimed.
        await model.script({**done(), "delay": 12}, match="attends", task="reply", repeat=True)
        jobs = said(talks, "attends")
        end = time.monotonic() + 60
        while till.number(state + "(claims > 0 AND state <> 'sent')") < 50 and time.monotonic() < end:
            most = max(most, till.number(state + "(state IN ('running', 'held', 'sending', 'sent'))"))
        running, failed = till.number(state + "state = 'running'"), till.number(state + "code = 'AR-540'")
        most = max(most, till.number(state + "(state IN ('running', 'held', 'sending', 'sent'))"))
        started = {seen.body.split("§")[1] for seen in await model.requests(task="reply") if "attends" in seen.body}

    assert (running, failed, len(started), most) == (10, 40, 10, PLACES)
    refused = next(job for job in jobs if first.job(job)["code"] is not None)
    shown = first.job(refused)
    assert (shown["state"], shown["code"], shown["attention"]) == ("failed", "AR-540", True)
    rule = next(item for item in shown["trace"] if item["kind"] == "guard")["rule"]
    assert (shown["reason"], rule.startswith(f"plan pro: {PLACES} of {PLACES} AI replies of ")) == (
        "quota_exceeded",
        True,
    )
    assert shown["trace"][0]["limit"] == PLACES
    first.call("POST", f"/v1/jobs/{refused}/retry", status=200)
    first.ended(refused, "failed")
    assert first.job(refused)["code"] == "AR-540"
    webhook = {"url": till.stack.receiver.url, "secret": SECRET}
    organization = {"kind": "Organization", "name": first.org, "plan": "enterprise", "webhook": webhook}
    first.call("POST", "/v1/apply", json={"resources": [organization]}, status=200)
    first.call("POST", f"/v1/jobs/{refused}/retry", status=200)
    wait_until(lambda: first.job(refused)["state"] in ("running", "held", "sending", "sent") or None, 20, "it runs")
    # The deaths of the test below are not to hit these: a job that has died twice runs alone, two at a time.
    wait_until(lambda: till.number(LIVE) == 0 or None, 60, "all that ran have ended")


async def test_a_run_ends_where_its_budget_has_no_room(till: Till, simulator: RunningSimulator) -> None:
    earlier = till.organization()
    earlier.ended(earlier.say("coucou")["job"])
    first_held = till.rows("SELECT reserved_usd FROM ledger ORDER BY at DESC, call DESC LIMIT 1")[0][0]
    budget = f"{first_held + Decimal('0.0006'):.4f}"
    talk = till.organization(budgets={"per_run": budget})
    async with simulator.control() as model:
        turns = [{"calls": [call("set_plan", plan=f"{n} " * 200)]} for n in range(12)]
        await model.script(*turns, match=talk.marker, task="reply")
        job = talk.ended(talk.say("salut")["job"], "failed")

    assert (job["code"], job["attention"]) == ("AR-541", True)
    guard = next(item for item in job["trace"] if item["kind"] == "guard")
    assert (job["reason"], guard["code"]) == ("over_run", "AR-541")
    assert guard["rule"].startswith(f"budgets.per_run ({budget} $) has no room for the next call of task reply")
    assert 0 < Decimal(job["usage"]["cost_usd"]) <= Decimal(budget)
    assert 1 <= job["usage"]["calls"] < 12


def usage_of(seen: SeenRequest) -> tuple[int, ...]:
    usage = seen.usage or {}
    made = usage.get("cache_creation") or {}
    return (
        usage["input_tokens"],
        usage.get("cache_read_input_tokens") or 0,
        made.get("ephemeral_5m_input_tokens", 0),
        made.get("ephemeral_1h_input_tokens", 0),
        usage["output_tokens"],
    )


@pytest.mark.timeout(240)
async def test_the_ledger_and_the_provider_have_seen_the_same_calls(till: Till, simulator: RunningSimulator) -> None:
    """Twelve conversations, half of which write again while they are answered; both reply workers die twice."""
    first = till.organization(budgets={"per_month": "50"}, limits={"in_flight": 100})
    org = till.number(f"SELECT id FROM organizations WHERE name = '{first.org}'")
    talks = [first, *(first.another() for _ in range(11))]
    async with simulator.control() as model:
        for talk in talks:
            turn = {"calls": [call("set_plan", plan="un")], "delay": 0.6}
            await model.script(
                turn,
                {**bubbles("Oui."), "delay": 0.6},
                {**done(), "delay": 0.4},
                match=talk.marker,
                task="reply",
                repeat=True,
            )
        said(talks)
        deaths = 0
        for round_ in range(ROUNDS):
            time.sleep(1.2)
            said(talks[round_::2], "encore")
            for name in ("reply", "reply-2"):
                till.stack.stop(name, signal.SIGKILL)
                deaths += 1
            for name in ("reply", "reply-2"):
                till.start(name)
        wait_until(lambda: till.number(LIVE) == 0 or None, 90, "all are answered")
        seen = await model.requests()

    asked = [request.headers[CALL_HEADER] for request in seen]
    assert len(asked) == len(set(asked)), "an attempt went out under the id of another"
    rows = {
        row[0]: row[1:]
        for row in till.rows(
            "SELECT call, state, run_id, fence, model, input, cache_read, cache_write_5m, cache_write_1h, output,"
            " cost_usd FROM ledger"
        )
    }
    assert set(asked) <= set(rows), "an attempt has no row"
    prices = GenaiPrices()
    by_state = Counter(row[0] for row in rows.values())
    for request in seen:
        state, _, _, name, *tokens, cost = rows[request.headers[CALL_HEADER]]
        if state == "settled":
            assert (name, tuple(tokens)) == (request.model, usage_of(request))
            assert cost == priced(prices, name, tokens)
    unknown = Counter(row[1] for row in rows.values() if row[0] == "unknown")
    of_claims = Counter((row[1], row[2]) for row in rows.values() if row[0] == "unknown")
    print(f"{len(seen)} attempts, {dict(by_state)}, {len(unknown)} runs with unknown calls, {deaths} deaths")
    assert by_state["reserved"] == 0
    assert by_state["settled"] + by_state["unknown"] == len(rows)
    settled_unseen = [name for name, row in rows.items() if row[0] == "settled" and name not in asked]
    assert settled_unseen == []
    assert max(of_claims.values(), default=0) <= 1, "a worker has one call of a run out when it dies"
    assert max(unknown.values(), default=0) <= ROUNDS, "a run has more unknown calls than its worker died"
    assert by_state["unknown"] > 0, "no call was out when a worker died: the test has shown nothing"
    spent = till.rows(f"SELECT usd FROM spending WHERE org_id = {org}")
    assert spent == till.rows(f"SELECT sum(cost_usd) FROM ledger WHERE org_id = {org}")


def priced(prices: GenaiPrices, name: str, tokens: list[int]) -> Decimal | None:
    return prices.cost(Model("anthropic", name), Usage(*tokens))
