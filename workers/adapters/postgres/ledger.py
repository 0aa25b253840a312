"""What model calls cost: one row per HTTP attempt, reserved before it, settled by its call id, never by a fence.

A row that is still `reserved` when its run goes on elsewhere or ends was paid for by nobody knows what: `unknown`,
and the reservation is its cost. Its answer, should it come late after all, still settles it.
"""

import json
from decimal import Decimal
from typing import Any

from schemas.agent import Resume
from schemas.claims import Claim
from schemas.llm import Reservation, SettledCall
from workers.adapters.postgres.transaction import Transaction, sql

_ROWS = """json_to_recordset(CAST(:calls AS json)) AS r(call text, task text, provider text, model text, state text,
outcome text, input int, cache_read int, cache_write_5m int, cache_write_1h int, output int, reserved_usd numeric,
cost_usd numeric, latency_ms int, request_id text)"""

_PAY = """
INSERT INTO ledger AS l (call, org_id, pipeline, conversation_id, job_id, run_id, fence, eur_per_usd, task, provider,
  model, state, outcome, input, cache_read, cache_write_5m, cache_write_1h, output, reserved_usd, cost_usd, latency_ms,
  request_id, settled_at)
SELECT r.call, :org, :pipeline, :conversation, :job, :run, :fence, CAST(:eur_per_usd AS numeric), r.task, r.provider,
  r.model, r.state, r.outcome, r.input, r.cache_read, r.cache_write_5m, r.cache_write_1h, r.output, r.reserved_usd,
  r.cost_usd, r.latency_ms, r.request_id, CASE WHEN r.state <> 'reserved' THEN clock_timestamp() END
FROM {rows}
ON CONFLICT (call) DO UPDATE SET
  task = excluded.task, provider = excluded.provider, model = excluded.model, state = excluded.state,
  outcome = excluded.outcome, input = excluded.input, cache_read = excluded.cache_read,
  cache_write_5m = excluded.cache_write_5m, cache_write_1h = excluded.cache_write_1h, output = excluded.output,
  cost_usd = CASE excluded.state WHEN 'unknown' THEN l.reserved_usd ELSE excluded.cost_usd END,
  latency_ms = excluded.latency_ms, request_id = excluded.request_id, settled_at = excluded.settled_at
WHERE excluded.state <> 'reserved' AND l.state <> 'settled'
"""

PAY_WHEN_FOUND = _PAY.format(
    rows=f"found CROSS JOIN {_ROWS} WHERE r.state <> 'reserved' OR (found.mine > 0 AND found.fresh)"
)
"""Part of the statement that saves a step: what was paid is kept whoever holds the lease, a reservation only by us.
`found` is read first: the rows of the ledger are written after the job's is locked, in every statement alike."""

_PAY_ALONE = sql(_PAY.format(rows=f"{_ROWS} WHERE true"))

_FORGET = sql("DELETE FROM ledger WHERE run_id = :run AND fence = :fence AND state = 'reserved'")

UNHEARD = """UPDATE ledger SET state = 'unknown', cost_usd = reserved_usd, settled_at = clock_timestamp()
WHERE {which} AND state = 'reserved'"""
"""What became of these calls will not be heard."""

_UNHEARD_OF_RUN = sql(UNHEARD.format(which="run_id = :run"))


def calls(settled: SettledCall | None, reserved: Reservation | None) -> str:
    """Rows for `PAY_WHEN_FOUND`, as JSON."""
    rows = []
    if settled is not None:
        rows.append(_settled(settled))
    if reserved is not None:
        rows.append(_reserved(reserved))
    return json.dumps(rows)


def owner(tx: Transaction, claim: Claim) -> dict[str, Any]:
    """The values that say whose calls these are."""
    case = claim.case
    return {
        "org": claim.org,
        "pipeline": case.persona.spec.pipeline or case.organization.spec.pipeline,
        "conversation": claim.conversation,
        "job": claim.job,
        "run": claim.resume.run,
        "fence": claim.fence,
        "eur_per_usd": tx.settings.fx.eur_per_usd,
    }


async def pay(tx: Transaction, claim: Claim, settled: SettledCall | None, reserved: Reservation | None = None) -> None:
    await tx.run(_PAY_ALONE, calls=calls(settled, reserved), **owner(tx, claim))


async def pay_for(
    tx: Transaction, whose: dict[str, Any], settled: SettledCall | None, reserved: Reservation | None = None
) -> None:
    """As `pay`, for calls that no job makes: `whose` holds what `owner` does."""
    await tx.run(_PAY_ALONE, calls=calls(settled, reserved), **whose)


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
