"""Money set aside before a call, settled after it, against the budgets of run, conversation and month."""

import asyncio
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest

from schemas.agent import Kept
from schemas.claims import Claim
from schemas.decisions import Failure
from schemas.errors import Code
from schemas.groups import FxSettings
from schemas.ids import call_id
from schemas.jobs import AutoReply
from schemas.llm import Model, Reservation, SettledCall, Task
from schemas.settings import Settings
from tests.builders_storage import MODEL, Storage, a_call, a_reply, a_reservation, a_step, a_storage

HELD, PAID = Decimal("0.004"), Decimal("0.001")
"""What a reservation of the builders sets aside, and what a call then costs."""


def with_budgets(url: str, **budgets: str) -> AbstractAsyncContextManager[Storage]:
    return a_storage(url, organization={"budgets": budgets}, pool_size=16)


async def spending(storage: Storage) -> Decimal | None:
    """Of the month, compared with the ledger: the two may never differ."""
    rows = await storage.rows(
        "SELECT usd, (SELECT sum(coalesce(cost_usd, reserved_usd, 0)) FROM ledger WHERE month IS NOT NULL) AS ledger"
        " FROM spending"
    )
    assert [row["usd"] for row in rows] == [row["ledger"] or 0 for row in rows]
    return rows[0]["usd"] if rows else None


@pytest.mark.parametrize(
    ("budget", "refused"),
    [("per_run", Kept.OVER_RUN), ("per_conversation", Kept.OVER_CONVERSATION), ("per_month", Kept.OVER_MONTH)],
)
async def test_a_call_is_reserved_while_it_fits_to_the_last_cent(database_url: str, budget: str, refused: Kept) -> None:
    async with with_budgets(database_url, **{budget: "0.006"}) as storage:
        await storage.say()
        claim = await storage.claim()
        keep = storage.transitions.save_step
        found = [await keep(claim, None, a_reservation(claim))]
        # settled at 0.001, the next may cost 0.004: 0.005, then 0.006, then 0.007
        found += [await keep(claim, a_step(claim, n), a_reservation(claim, n + 1)) for n in (1, 2, 3)]

        assert found == [Kept.FRESH, Kept.FRESH, Kept.FRESH, refused]
        rows = await storage.rows("SELECT call, state, cost_usd FROM ledger ORDER BY call")
        assert [(row["state"], row["cost_usd"]) for row in rows] == [("settled", PAID)] * 3
        assert [row["n"] for row in await storage.rows("SELECT n FROM run_steps ORDER BY n")] == [1, 2, 3]
        assert await spending(storage) == (3 * PAID if budget == "per_month" else None)


@pytest.mark.parametrize("budget", ["per_run", "per_conversation", "per_month"])
async def test_a_step_that_is_handed_in_twice_counts_its_money_once(database_url: str, budget: str) -> None:
    """The answer to the first was lost. There is room for what was settled and the call after it, to the last cent."""
    async with with_budgets(database_url, **{budget: str(PAID + HELD)}) as storage:
        await storage.say()
        claim = await storage.claim()
        keep = storage.transitions.save_step
        found = [await keep(claim, None, a_reservation(claim)) for _ in range(2)]
        found += [await keep(claim, a_step(claim), a_reservation(claim, 2)) for _ in range(3)]
        found.append(await keep(claim, a_step(claim, 2), a_reservation(claim, 3)))

        assert [kept.over_budget for kept in found] == [False] * 5 + [True]
        rows = await storage.rows("SELECT call, state FROM ledger ORDER BY call")
        assert [row["state"] for row in rows] == ["settled", "settled"]


async def test_a_new_run_has_its_own_budget_and_the_conversation_only_one(database_url: str) -> None:
    async with with_budgets(database_url, per_run="0.004", per_conversation="0.0045") as storage:
        await storage.say()
        claim = await storage.claim()
        assert await storage.transitions.save_step(claim, None, a_reservation(claim)) is Kept.FRESH
        await storage.transitions.save_step(claim, a_step(claim), None)
        await storage.transitions.record(claim, a_reply("oui"))
        await storage.say("m-2")
        second = await storage.claim()
        assert await storage.transitions.save_step(second, None, a_reservation(second)) is Kept.OVER_CONVERSATION
        await storage.say("m-3", conversation="c-2")
        third = await storage.claim()

        assert await storage.transitions.save_step(third, None, a_reservation(third)) is Kept.FRESH


async def test_sixteen_at_once_never_spend_more_than_the_month_has(database_url: str) -> None:
    async with with_budgets(database_url, per_month="0.0400") as storage:
        claims = []
        for n in range(1, 33):
            await storage.say(f"m-{n}", conversation=f"c-{n}")
            claim = await storage.transitions.claim_run(AutoReply(conversation=n, job=n))
            assert claim is not None
            claims.append(claim)
        found = await asyncio.gather(*(storage.transitions.save_step(c, None, a_reservation(c)) for c in claims))

        assert found.count(Kept.FRESH) == 10
        assert found.count(Kept.OVER_MONTH) == 22
        assert await spending(storage) == 10 * HELD


async def test_another_models_turn_replaces_what_was_set_aside(database_url: str) -> None:
    """A month with room for exactly one call: what the first would have cost is free for the second."""
    async with with_budgets(database_url, per_month="0.004") as storage:
        await storage.say()
        claim = await storage.claim()
        keep, first = storage.transitions.save_step, a_reservation(claim)
        other = Model("openai", "gpt-6-luna")
        found = [await keep(claim, None, first)]
        found.append(await keep(claim, None, replace(first, model=other, cost_usd=Decimal("0.003"))))

        assert found == [Kept.FRESH, Kept.FRESH]
        (row,) = await storage.rows("SELECT state, model, reserved_usd FROM ledger")
        assert tuple(row.values()) == ("reserved", "gpt-6-luna", Decimal("0.003"))
        assert await spending(storage) == Decimal("0.003")

        await keep(claim, a_step(claim), None)
        await keep(claim, None, replace(first, cost_usd=Decimal("0.002")))
        (row,) = await storage.rows("SELECT state, cost_usd FROM ledger")
        assert tuple(row.values()) == ("settled", PAID), "what is settled stays"


async def forgotten(storage: Storage, claim: Claim) -> None:
    await storage.transitions.record(claim, a_reply("oui"))


async def unheard(storage: Storage, claim: Claim) -> None:
    await storage.transitions.cancel(storage.org, claim.job, "ops")


async def failed_for_nothing(storage: Storage, claim: Claim) -> None:
    call = a_call(claim, outcome="overloaded", cost_usd=Decimal(0))
    await storage.transitions.record(claim, Failure(Code.MODELS_FAILED, "x", call=call))


async def failed_unheard(storage: Storage, claim: Claim) -> None:
    call = a_call(claim, outcome="timeout", cost_usd=HELD, unknown=True)
    await storage.transitions.record(claim, Failure(Code.MODELS_FAILED, "x", call=call))


async def heard_too_late(storage: Storage, claim: Claim) -> None:
    await unheard(storage, claim)
    await storage.transitions.save_step(claim, a_step(claim), None)


@pytest.mark.parametrize(
    ("end", "spent"),
    [(forgotten, 0), (unheard, HELD), (failed_for_nothing, 0), (failed_unheard, HELD), (heard_too_late, PAID)],
)
async def test_what_was_set_aside_is_free_again_or_paid(database_url: str, end: Any, spent: Decimal) -> None:
    async with with_budgets(database_url, per_month="1") as storage:
        await storage.say()
        claim = await storage.claim()
        await storage.transitions.save_step(claim, None, a_reservation(claim))
        assert await spending(storage) == HELD
        await end(storage, claim)

        assert await spending(storage) == spent


async def test_a_budget_that_is_set_later_counts_what_the_month_has_cost(database_url: str) -> None:
    async with with_budgets(database_url, per_month="0.0045") as storage:
        await storage.say()
        claim = await storage.claim()
        await storage.rows(
            "INSERT INTO ledger (call, org_id, pipeline, task, fence, provider, model, state, cost_usd, at) "
            "SELECT 'x' || n, :org, 'autoreply', 'reply', 1, 'p', 'm', 'settled', 0.001, now() - n * interval '40 d' "
            "FROM generate_series(0, 1) AS n",
            org=storage.org,
        )
        assert await storage.transitions.save_step(claim, None, a_reservation(claim)) is Kept.OVER_MONTH
        spent = await storage.row("SELECT usd FROM spending")
        assert spent["usd"] == Decimal("0.001")


async def test_where_no_budget_is_set_nothing_is_counted(database_url: str) -> None:
    async with a_storage(database_url) as storage:
        await storage.say()
        claim = await storage.claim()
        await storage.transitions.save_step(claim, None, a_reservation(claim))
        assert await storage.rows("SELECT 1 FROM spending") == []


async def test_a_row_keeps_the_organisations_currency_at_a_dated_rate(database_url: str) -> None:
    fx = FxSettings.model_validate({"per_usd": {"GBP": "0.74"}, "dated": "2026-12-01"})
    async with a_storage(database_url, organization={"currency": "GBP"}, settings=Settings(fx=fx)) as storage:
        await storage.say()
        claim = await storage.claim()
        await storage.transitions.save_step(claim, None, a_reservation(claim))
        slow = replace(a_call(claim), latency_ms=900)
        await storage.transitions.save_step(claim, replace(a_step(claim), call=slow), None)

        row = await storage.row(
            "SELECT currency, per_usd, rate_dated::text, eur_per_usd, latency_ms, cost_usd FROM ledger"
        )
        assert row == {
            "currency": "GBP",
            "per_usd": Decimal("0.74"),
            "rate_dated": "2026-12-01",
            "eur_per_usd": Decimal("0.86"),
            "latency_ms": 900,
            "cost_usd": PAID,
        }


async def test_a_call_without_a_price_is_tallied_and_is_no_zero(database_url: str) -> None:
    async with a_storage(database_url) as storage:
        await storage.say()
        claim = await storage.claim()
        call = call_id(claim.resume.run, 1, claim.fence)
        await storage.transitions.save_step(claim, None, Reservation(call, Task.REPLY, MODEL, None))
        settled = SettledCall(call, Task.REPLY, MODEL, "ok", cost_usd=None)
        await storage.transitions.save_step(claim, replace(a_step(claim), call=settled), None)

        assert await storage.row("SELECT cost_usd FROM ledger") == {"cost_usd": None}
        tallied = await storage.row("SELECT labels, n FROM tallies WHERE metric = 'unpriced'")
        assert tallied == {"labels": [MODEL.provider, MODEL.name], "n": 1}
