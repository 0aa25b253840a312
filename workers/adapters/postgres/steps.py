"""One iteration is kept: the step, its cost, the next call's reservation and the lease, in one statement."""

import json
from collections.abc import Sequence
from datetime import datetime

from pipelines.text import storable, storable_deep
from schemas.agent import Kept, Step, TraceItem
from schemas.claims import Claim
from schemas.llm import Reservation, SettledCall
from schemas.strategy import Resolved
from workers.adapters.postgres import inbound, ledger
from workers.adapters.postgres.jobs import AT_REST, EVENT, MAX_RESTARTS, Job, read
from workers.adapters.postgres.locks import Locked, lock
from workers.adapters.postgres.transaction import Transaction, sql

_SAVE = sql(f"""
WITH mine AS (
  UPDATE jobs
  SET lease_until = clock_timestamp() + make_interval(secs => :lease), due_at = NULL,
      crashes = CASE WHEN :saved THEN 0 ELSE crashes END, tries = CASE WHEN :saved THEN 0 ELSE tries END
  WHERE id = :job AND fence = :fence AND state = 'running'
  RETURNING conversation_id, inbound_seq, pinned
), found AS (
  SELECT count(*) AS mine, COALESCE(bool_or(mine.pinned OR mine.inbound_seq = c.inbound_seq), false) AS fresh
  FROM mine JOIN conversations c ON c.id = mine.conversation_id
), step AS (
  INSERT INTO run_steps (run_id, n, task, content, trace)
  SELECT :run, :n, :task, CAST(:content AS json), CAST(:trace AS json) FROM found WHERE found.mine > 0 AND :saved
  ON CONFLICT DO NOTHING
), timed AS (
  UPDATE runs SET active_seconds = :active_seconds FROM found WHERE id = :run AND found.mine > 0 AND :saved
), allowed AS MATERIALIZED ({ledger.ALLOWED_WHEN_FOUND}
), paid AS ({ledger.PAY_WHEN_FOUND})
SELECT mine > 0 AS mine, fresh, refusal FROM found CROSS JOIN allowed
""")

TRACED = """trace = (
    SELECT json_agg(item ORDER BY part, place)
    FROM (VALUES (1, COALESCE(trace, '[]')), (2, CAST(:trace AS json))) AS parts (part, items),
         json_array_elements(items) WITH ORDINALITY AS each (item, place)
)"""
"""What the run found after its last step is added to its trace, as it was written: `jsonb` would sort the keys."""

_REQUEUE = sql(f"""
WITH queued AS (
  UPDATE jobs
  SET state = 'queued', restarts = restarts + 1, crashes = CASE WHEN :orderly THEN 0 ELSE crashes END,
      inbound_seq = :seq, {AT_REST},
      due_at = GREATEST(LEAST(COALESCE(CAST(:last_inbound_at AS timestamptz), clock_timestamp())
                                + make_interval(secs => :quiet),
                              first_message_at + make_interval(secs => :max_wait)),
                        parked_until, CAST(:paused_until AS timestamptz))
  WHERE id = :job AND fence = :fence AND state = 'running'
  RETURNING id, due_at
), closed AS (
  UPDATE runs SET outcome = 'discarded', {TRACED}
  WHERE job_id = :job AND outcome IS NULL AND EXISTS (SELECT 1 FROM queued)
  RETURNING id
), spent AS (
  UPDATE ledger SET discarded = true,
                    state = CASE state WHEN 'reserved' THEN 'unknown' ELSE state END,
                    cost_usd = CASE state WHEN 'reserved' THEN reserved_usd ELSE cost_usd END
  WHERE run_id IN (SELECT id FROM closed)
), told AS ({EVENT.format(of="queued", frm="'running'", to="'queued'")})
SELECT due_at FROM queued
""")


def outcomes(strategy: Resolved | None) -> str | None:
    """What became of the rules, as the job keeps it. A run in which none matched keeps an empty list: it is one more
    in which none held. None: they were not asked."""
    if strategy is None:
        return None
    return json.dumps([rule.model_dump(mode="json", exclude_defaults=True) for rule in strategy.rules])


async def save(
    tx: Transaction, claim: Claim, step: Step | None, reserve: Reservation | None, failed: SettledCall | None = None
) -> Kept:
    """Saved twice under one fence it is one step: the answer to the first was lost. OVERTAKEN means here only that the
    contact wrote: what follows from it is `overtaken`'s to decide."""
    row = await tx.the(
        _SAVE,
        lease=tx.lease,
        saved=step is not None,
        n=step.n if step else 0,
        task=step.task.value if step else "",
        content=storable(step.content) if step else "null",
        trace=traced(step.trace if step else ()),
        active_seconds=step.active_seconds if step else 0.0,
        **ledger.values(tx.settings, ledger.owner(claim), step.call if step else failed, reserve),
    )
    if not row.mine:
        return Kept.LOST
    return ledger.verdict(row.refusal) if row.fresh else Kept.OVERTAKEN


async def overtaken(tx: Transaction, claim: Claim, reserve: Reservation | None) -> Kept:
    """The contact wrote while the run was thinking: it begins anew, or stands once that has happened too often."""
    conversation = await lock(tx, claim.conversation)
    job = None if conversation is None else await read(tx, conversation, claim.job)
    if conversation is None or job is None or job.fence != claim.fence or job.state != "running":
        return Kept.LOST
    if job.pinned or job.restarts >= MAX_RESTARTS:
        if not job.pinned:
            await inbound.pin(tx, conversation, job, "restarted_too_often")
        return await ledger.pay(tx, claim, None, reserve)
    await requeue(tx, conversation, job)
    return Kept.OVERTAKEN


async def requeue(
    tx: Transaction, conversation: Locked, job: Job, trace: Sequence[TraceItem] = (), orderly: bool = True
) -> datetime | None:
    """The run is thrown away, the job waits for the contact to finish. Answers when it is due."""
    debounce = conversation.persona.spec.debounce
    row = await tx.the(
        _REQUEUE,
        org=conversation.org,
        conversation=conversation.id,
        job=job.id,
        fence=job.fence,
        seq=conversation.inbound_seq,
        orderly=orderly,
        last_inbound_at=conversation.last_inbound_at,
        quiet=debounce.quiet_seconds,
        max_wait=debounce.max_wait_seconds,
        paused_until=conversation.paused_until,
        trace=traced(trace),
        who="worker",
        why="overtaken",
        facts=None,
    )
    due_at: datetime | None = row.due_at
    return due_at


def traced(trace: Sequence[TraceItem]) -> str:
    return json.dumps([storable_deep(item.shown()) for item in trace])
