"""`GET /v1/costs` and what /metrics says of money: the ledger, whoever asks and however it is grouped."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest

from schemas.costs import CostGroup
from schemas.ids import OrgId
from tests.builders_face import Gateway, a_gateway

PLAN = {"REPLIQUE_PLANS__PRO_REPLIES": "4", "REPLIQUE_PLANS__PRO_PRICE": "10", "REPLIQUE_FX__EUR_PER_USD": "0.8"}
COLUMNS = (
    "call, org_id, pipeline, task, conversation_id, fence, provider, model, state, outcome, input, cache_read, "
    "cache_write_5m, cache_write_1h, output, cost_usd, eur_per_usd, currency, per_usd, discarded, month, at"
)


@asynccontextmanager
async def a_till(database_url: str) -> AsyncIterator[Gateway]:
    """Two organisations: acme in euros with plan pro, globex in dollars without one."""
    async with a_gateway(database_url, **PLAN) as gateway:
        for name, spec in (("acme", '{"plan": "pro", "timezone": "Asia/Tokyo"}'), ("globex", '{"currency": "USD"}')):
            await gateway.run(
                "INSERT INTO organizations (name, spec, version) VALUES (:name, :spec, 1)", name=name, spec=spec
            )
        for org, name in ((1, "c-1"), (1, "c-2"), (2, "c-1")):
            await gateway.run(
                "WITH p AS (INSERT INTO personas (org_id, name, spec, version)"
                " VALUES (:org, :name, '{}', 1) RETURNING id),"
                " k AS (INSERT INTO contacts (org_id, name, profile) VALUES (:org, :name, '{}') RETURNING id)"
                " INSERT INTO conversations (org_id, persona_id, contact_id, name, inbound_seq, last_position)"
                " SELECT :org, p.id, k.id, :name, 1, 1 FROM p, k",
                org=org,
                name=name,
            )
        eur, usd = {"currency": "EUR", "per_usd": "0.8"}, {"org_id": 2, "currency": "USD", "per_usd": "1"}
        await call(gateway, 1, cost_usd="0.5", input=100, cache_read=300, output=10, month="now()::date", **eur)
        await call(gateway, 2, cost_usd="0.25", input=100, cache_write_1h=20, discarded="true", task="review", **eur)
        await call(gateway, 3, cost_usd="1", conversation_id=3, model="opus", task="concierge_strong", **usd)
        await call(gateway, 4, cost_usd="0.125", conversation_id=3, task="concierge", state="unknown", **usd)
        await call(gateway, 5, cost_usd=None, conversation_id=2, model="new", **eur)
        await call(gateway, 6, cost_usd=None, state="reserved", **eur)
        await call(gateway, 7, cost_usd="9", at="timestamptz '2026-03-31T20:00:00Z'", **eur)
        yield gateway


async def call(gateway: Gateway, number: int, **columns: Any) -> None:
    values = {
        "call": f"c{number}", "org_id": 1, "pipeline": "autoreply", "task": "reply", "conversation_id": 1, "fence": 1,
        "provider": "anthropic", "model": "haiku", "state": "settled", "outcome": "ok", "input": 0, "cache_read": 0,
        "cache_write_5m": 0, "cache_write_1h": 0, "output": 0, "eur_per_usd": "0.8", "discarded": "false",
        "month": "NULL", "at": "now()", **columns,
    }  # fmt: skip
    literal = {"at", "month", "discarded"}
    shown = [str(values[c.strip()]) if c.strip() in literal else _quoted(values[c.strip()]) for c in COLUMNS.split(",")]
    await gateway.run(f"INSERT INTO ledger ({COLUMNS}) VALUES ({', '.join(shown)})")


def _quoted(value: Any) -> str:
    return "NULL" if value is None else f"'{value}'"


async def asked(gateway: Gateway, query: str = "", **headers: str) -> Any:
    answer = await gateway.call("GET", f"/v1/costs{query}", headers=headers)
    assert answer.status_code == 200, answer.text
    return answer.json()


def lines(found: Any) -> list[tuple[str | None, int, str]]:
    return [(line["key"], line["calls"], line["cost_usd"]) for line in found["items"]]


@pytest.mark.parametrize(
    ("group", "expected"),
    [
        ("org", [("globex", 2, "1.125"), ("acme", 3, "0.75")]),
        ("model", [("anthropic:opus", 1, "1"), ("anthropic:haiku", 3, "0.875"), ("anthropic:new", 1, "0")]),
        ("pipeline", [("autoreply", 5, "1.875")]),
        ("task", [("concierge_strong", 1, "1"), ("reply", 2, "0.5"), ("review", 1, "0.25"), ("concierge", 1, "0.125")]),
        ("conversation", [("c-1", 2, "1.125"), ("c-1", 2, "0.75"), ("c-2", 1, "0")]),
    ],
)
async def test_the_same_calls_by_everything(database_url: str, group: str, expected: list[Any]) -> None:
    async with a_till(database_url) as gateway:
        found = await asked(gateway, f"?group={group}")

    assert lines(found) == expected
    total = found["total"]
    assert (total["calls"], total["cost_usd"], total["discarded_cost_usd"]) == (5, "1.875", "0.25")
    assert (total["unpriced_calls"], total["unknown_calls"], total["currency"], total["cost"]) == (1, 1, None, None)
    assert (total["cost_eur"], total["strong_share"]) == ("1.5", 0.25)
    assert total["cache_share"] == 300 / 520


async def test_what_belongs_to_no_organisation_is_shown_to_who_sees_all(database_url: str) -> None:
    async with a_till(database_url) as gateway:
        await call(
            gateway, 8, org_id=99, task="embeddings", conversation_id=None, cost_usd="2", currency="USD", per_usd="1"
        )
        everywhere = await asked(gateway, "?group=org")
        one = await asked(gateway, "?group=org", **{"X-Organization": "acme"})

    assert lines(everywhere)[0] == ("(none)", 1, "2")
    assert everywhere["total"]["cost_usd"] == "3.875"
    assert lines(one) == [("acme", 3, "0.75")]


async def test_one_organisation_in_its_own_currency_and_days(database_url: str) -> None:
    async with a_till(database_url) as gateway:
        found = await asked(gateway, "?group=org", **{"x-organization": "acme"})
        old = await asked(
            gateway,
            "?group=day&since=2026-03-01T00:00:00Z&until=2026-04-01T00:00:00Z",
            **{"x-organization": "acme"},
        )
        months = await asked(gateway, "?group=month&since=2026-03-01T00:00:00Z&until=2026-04-01T00:00:00Z")

    (line,) = found["items"]
    assert (line["currency"], line["cost"], line["strong_share"]) == ("EUR", "0.6", 0)
    # 20:00 of the 31st in UTC is the 1st of April in Tokyo
    assert lines(old) == [("2026-04-01", 1, "9")]
    assert lines(months) == [("2026-04", 1, "9")]
    (plan,) = found["plans"]
    month = plan.pop("month")
    assert len(month) == 7
    assert {**plan, "margin": round(plan["margin"], 4)} == {
        "org": "acme", "plan": "pro", "used": 0, "limit": 4, "price": "10", "currency": "EUR",
        "spent_usd": plan["spent_usd"], "margin": round(float(1 - Decimal(plan["spent_usd"]) * 8 / 100), 4),
    }  # fmt: skip


async def test_the_consoles_page_sums_up_the_same_calls(database_url: str) -> None:
    async with a_till(database_url) as gateway:
        await call(gateway, 8, org_id=99, conversation_id=None, cost_usd="2", currency="USD", per_usd="1")
        for org in (None, OrgId(1)):
            shown = await gateway.parts.costs.daily(org, 30, "Europe/Paris")
            told = await gateway.parts.costs.sums(org, CostGroup.MODEL, datetime.now(UTC) - timedelta(days=1), None, 50)
            for line in told.items:
                same = [row for row in shown if row.model == line.key]
                assert (line.calls, Decimal(line.cost_usd), line.cache_read, line.unpriced_calls) == (
                    sum(row.calls for row in same),
                    sum(row.usd for row in same),
                    sum(row.cache_read for row in same),
                    sum(row.unpriced for row in same),
                )
            assert told.total.calls == sum(row.calls for row in shown)


async def test_what_is_over_the_limit_is_counted_and_nonsense_is_refused(database_url: str) -> None:
    async with a_till(database_url) as gateway:
        found = await asked(gateway, "?group=model&limit=1")
        empty = await asked(gateway, "?since=2020-01-01T00:00:00Z&until=2020-01-02T00:00:00Z")
        backwards = await gateway.call("GET", "/v1/costs?since=2026-02-01T00:00:00Z&until=2026-01-01T00:00:00Z")
        nothing = await gateway.call("GET", "/v1/costs?group=colour")

    assert (len(found["items"]), found["left_off"], found["total"]["calls"]) == (1, 2, 5)
    assert (empty["items"], empty["total"]["calls"], empty["total"]["cost_usd"]) == ([], 0, "0")
    assert (backwards.status_code, nothing.status_code) == (422, 422)


async def test_metrics_of_plans_and_of_calls_without_a_price(database_url: str) -> None:
    async with a_till(database_url) as gateway:
        await gateway.run(
            "INSERT INTO quota_counts (org_id, month, used) "
            "VALUES (1, date_trunc('month', now() AT TIME ZONE 'Asia/Tokyo')::date, 3)"
        )
        before = await scraped(gateway)
        await gateway.run(
            "WITH j AS (INSERT INTO jobs (org_id, conversation_id, queue, state, inbound_seq, first_message_at)"
            " VALUES (1, 1, 'reply', 'failed', 1, now()) RETURNING id)"
            " INSERT INTO job_events (org_id, job_id, conversation_id, who, from_state, to_state, why, facts)"
            """ SELECT 1, id, 1, 'worker', 'running', 'failed', 'x', '{"code": "AR-540", "plan": "pro"}' FROM j"""
        )
        after = await scraped(gateway)
    async with a_gateway(database_url, **PLAN) as another:
        elsewhere = await scraped(another)

    own = '{org_id="1",plan="pro"}'
    assert before["replique_ai_unpriced_calls_total" + '{model="new",provider="anthropic"}'] == "1.0"
    assert before["replique_quota_usage_ratio" + own] == "0.75"
    assert before["replique_quota_exceeded_total" + own] == "0.0"
    assert after["replique_quota_exceeded_total" + own] == "1.0"
    assert float(after["replique_ai_margin_ratio" + own]) < 1
    assert {k: v for k, v in elsewhere.items() if "oldest" not in k} == {
        k: v for k, v in after.items() if "oldest" not in k
    }


async def scraped(gateway: Gateway) -> dict[str, str]:
    told = (await gateway.call("GET", "/metrics")).text
    return dict(line.rsplit(" ", 1) for line in told.splitlines() if not line.startswith("#"))
