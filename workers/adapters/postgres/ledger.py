"""What model calls cost: one row per HTTP attempt, reserved before it, settled by its call id, never by a fence.

A row that is still `reserved` when its run goes on elsewhere or ends was paid for by nobody knows what: `unknown`,
and the reservation is its cost. Its answer, should it come late after all, still settles it.
"""

import json
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from pipelines.llm.plans import is_metered
from schemas.agent import Kept, Resume
from schemas.claims import Claim
from schemas.ids import ConversationId, JobId, OrgId, RunId
from schemas.llm import Reservation, SettledCall
from schemas.resources import OrganizationSpec
from schemas.settings import Settings
from workers.adapters.postgres.transaction import Transaction, sql

MONTH = "CAST(date_trunc('month', clock_timestamp() AT TIME ZONE CAST(:zone AS text)) AS date)"
"""The organisation's own, now."""

_ROWS = """json_to_recordset(CAST(:calls AS json)) AS r(call text, task text, provider text, model text, state text,
outcome text, input int, cache_read int, cache_write_5m int, cache_write_1h int, output int, reserved_usd numeric,
cost_usd numeric, latency_ms int, request_id text)"""

_PAY = f"""
INSERT INTO ledger AS l (call, org_id, pipeline, conversation_id, job_id, run_id, fence, eur_per_usd, currency, per_usd,
  rate_dated, month, task, provider, model, state, outcome, input, cache_read, cache_write_5m, cache_write_1h, output,
  reserved_usd, cost_usd, latency_ms, request_id, settled_at)
SELECT r.call, :org, :pipeline, :conversation, :job, :run, :fence, CAST(:eur_per_usd AS numeric), :currency,
  CAST(:per_usd AS numeric), CAST(:rate_dated AS date), CASE WHEN :metered THEN {MONTH} END, r.task, r.provider,
  r.model, r.state, r.outcome, r.input, r.cache_read, r.cache_write_5m, r.cache_write_1h, r.output, r.reserved_usd,
  r.cost_usd, r.latency_ms, r.request_id, CASE WHEN r.state <> 'reserved' THEN clock_timestamp() END
FROM {{rows}}
ON CONFLICT (call) DO UPDATE SET
  task = excluded.task, provider = excluded.provider, model = excluded.model, state = excluded.state,
  reserved_usd = CASE excluded.state WHEN 'reserved' THEN excluded.reserved_usd ELSE l.reserved_usd END,
  outcome = excluded.outcome, input = excluded.input, cache_read = excluded.cache_read,
  cache_write_5m = excluded.cache_write_5m, cache_write_1h = excluded.cache_write_1h, output = excluded.output,
  cost_usd = CASE excluded.state WHEN 'unknown' THEN l.reserved_usd ELSE excluded.cost_usd END,
  latency_ms = excluded.latency_ms, request_id = excluded.request_id,
  settled_at = excluded.settled_at
WHERE CASE excluded.state WHEN 'reserved' THEN l.state = 'reserved' ELSE l.state <> 'settled' END
"""

# Handed in again because the answer was lost, both calls are in the sums already: the one settled, the other set aside.
# `budget_refusal` itself takes out what had been set aside for the one that is settled now.
_COUNTED = """coalesce((SELECT sum(coalesce(l.cost_usd, l.reserved_usd)) FROM ledger l
  WHERE l.call = ANY(CAST(:again AS text[])) AND (l.state = 'settled' OR l.call <> CAST(:settling AS text))), 0)"""

# Asked only where a budget is set and a call is about to be reserved; in one piece with the reservation.
_ASKED = f"""CASE WHEN :budgeted AND {{when}} THEN budget_refusal(:org, :run, :conversation, {MONTH},
  CAST(:more AS numeric) - {_COUNTED}, CAST(:settling AS text), CAST(:per_run AS numeric),
  CAST(:per_conversation AS numeric), CAST(:per_month AS numeric)) END AS refusal"""

ALLOWED_WHEN_FOUND = f"SELECT {_ASKED.format(when='found.mine > 0 AND found.fresh')} FROM found"

PAY_WHEN_FOUND = _PAY.format(
    rows=f"found CROSS JOIN allowed CROSS JOIN {_ROWS} "
    "WHERE r.state <> 'reserved' OR (found.mine > 0 AND found.fresh AND allowed.refusal IS NULL)"
)
"""Part of the statement that saves a step: what was paid is kept whoever holds the lease, a reservation only by us, and
only where `ALLOWED_WHEN_FOUND` has found no budget that it would break. `found` is read first: the rows of the ledger
are written after the job's is locked, in every statement alike."""

PAY_ALONE = f"""
WITH allowed AS MATERIALIZED (SELECT {_ASKED.format(when="true")}
), paid AS ({_PAY.format(rows=f"allowed CROSS JOIN {_ROWS} WHERE r.state <> 'reserved' OR allowed.refusal IS NULL")})
SELECT refusal FROM allowed
"""
_PAY_ALONE = sql(PAY_ALONE)

_FORGET = sql("DELETE FROM ledger WHERE run_id = :run AND fence = :fence AND state = 'reserved'")

UNHEARD = """UPDATE ledger SET state = 'unknown', cost_usd = reserved_usd, settled_at = clock_timestamp()
WHERE {which} AND state = 'reserved'"""
"""What became of these calls will not be heard."""

_UNHEARD_OF_RUN = sql(UNHEARD.format(which="run_id = :run"))


@dataclass(frozen=True, slots=True)
class Owner:
    """Whose a call is. No job: a chore's, `fence` is the chore's then. No conversation: an embedding's."""

    org: OrgId
    spec: OrganizationSpec
    pipeline: str
    conversation: ConversationId | None
    job: JobId | None
    run: RunId | None
    fence: int


def owner(claim: Claim) -> Owner:
    organization, persona = claim.case.organization, claim.case.persona
    pipeline = persona.spec.pipeline or organization.spec.pipeline
    return Owner(claim.org, organization.spec, pipeline, claim.conversation, claim.job, claim.resume.run, claim.fence)


def values(
    settings: Settings, whose: Owner, settled: SettledCall | None, reserved: Reservation | None = None
) -> dict[str, Any]:
    """What `ALLOWED_WHEN_FOUND` and `PAY_WHEN_FOUND` bind."""
    rows = [] if settled is None else [_settled(settled)]
    if reserved is not None:
        rows.append(_reserved(reserved))
    fx, budgets = settings.fx, whose.spec.budgets
    # A reservation may be there already, for a model whose turn it is no more: it is replaced.
    replaced = reserved if settled is None else settled
    more = [call.cost_usd for call in (settled, reserved) if call is not None and call.cost_usd is not None]
    limits = (budgets.per_run, budgets.per_conversation, budgets.per_month)
    return {
        "calls": json.dumps(rows),
        "org": whose.org,
        "pipeline": whose.pipeline,
        "conversation": whose.conversation,
        "job": whose.job,
        "run": whose.run,
        "fence": whose.fence,
        "eur_per_usd": fx.eur_per_usd,
        "currency": whose.spec.currency,
        "per_usd": fx.rate(whose.spec.currency),
        "rate_dated": fx.dated,
        "zone": whose.spec.timezone,
        "metered": is_metered(whose.spec, settings.plans),
        "budgeted": reserved is not None and any(limit is not None for limit in limits),
        "more": sum(more, Decimal(0)),
        "settling": None if replaced is None else replaced.call,
        "again": [call.call for call in (settled, reserved) if call is not None],
        "per_run": budgets.per_run,
        "per_conversation": budgets.per_conversation,
        "per_month": budgets.per_month,
    }


async def pay(tx: Transaction, claim: Claim, settled: SettledCall | None, reserved: Reservation | None = None) -> Kept:
    return await pay_for(tx, owner(claim), settled, reserved)


async def pay_for(
    tx: Transaction, whose: Owner, settled: SettledCall | None, reserved: Reservation | None = None
) -> Kept:
    """What was paid is kept in any case. FRESH: so is the reservation; else which budget it would break."""
    row = await tx.the(_PAY_ALONE, **values(tx.settings, whose, settled, reserved))
    return verdict(row.refusal)


def verdict(refusal: str | None) -> Kept:
    """The word of the database, as ours."""
    return Kept.FRESH if refusal is None else Kept(f"over_{refusal}")


async def close(tx: Transaction, claim: Claim, call: SettledCall | None) -> None:
    """A decision ends the claim: `call` was made and is settled; without one, the reservation was not used."""
    if call is not None:
        await pay(tx, claim, call)
    else:
        await forget(tx, claim.resume)


async def forget(tx: Transaction, run: Resume) -> None:
    """What was set aside under this fence and never asked."""
    await tx.run(_FORGET, run=run.run, fence=run.fence)


async def give_up_hope(tx: Transaction, run: int) -> None:
    """Another worker goes on with the run: what was in flight when its claim ended was not heard."""
    await tx.run(_UNHEARD_OF_RUN, run=run)


def _settled(call: SettledCall) -> dict[str, Any]:
    usage = call.usage
    return {
        "call": call.call,
        "task": call.task.value,
        "provider": call.model.provider,
        "model": call.model.name,
        "state": "unknown" if call.unknown else "settled",
        "outcome": call.outcome,
        "input": usage.input,
        "cache_read": usage.cache_read,
        "cache_write_5m": usage.cache_write_5m,
        "cache_write_1h": usage.cache_write_1h,
        "output": usage.output,
        "cost_usd": _money(call.cost_usd),
        "latency_ms": call.latency_ms,
        "request_id": call.request_id,
    }


def _reserved(call: Reservation) -> dict[str, Any]:
    return {
        "call": call.call,
        "task": call.task.value,
        "provider": call.model.provider,
        "model": call.model.name,
        "state": "reserved",
        "input": 0,
        "cache_read": 0,
        "cache_write_5m": 0,
        "cache_write_1h": 0,
        "output": 0,
        "reserved_usd": _money(call.cost_usd),
    }


def _money(amount: Decimal | None) -> str | None:
    return None if amount is None else str(amount)
