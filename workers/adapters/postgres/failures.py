"""A job fails: a person is told, by the attention list and a webhook; what machines failed is a dead letter too."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from pipelines.delivery import bodies
from pipelines.text import storable
from schemas.agent import TraceItem
from schemas.claims import Ended, JobState
from schemas.errors import CODES, Code
from schemas.ids import DeliveryId, reference
from schemas.strategy import Resolved
from workers.adapters.postgres.jobs import AT_REST, EVENT, Job, successor
from workers.adapters.postgres.jobs import facts as as_json
from workers.adapters.postgres.ledger import UNHEARD
from workers.adapters.postgres.locks import Locked
from workers.adapters.postgres.steps import TRACED, outcomes, traced
from workers.adapters.postgres.transaction import Transaction, sql
from workers.adapters.postgres.webhooks import insert_for

_FAIL = sql(f"""
WITH ended AS (
  UPDATE jobs
  SET state = 'failed', code = :code, reason = :why, attention = 'open', due_at = NULL, {AT_REST},
      rules = COALESCE(CAST(:rules AS json), rules),
      on_hold = false, rest = NULL, ended_at = clock_timestamp()
  WHERE id = :job AND state = :from AND fence = :fence
  RETURNING id
), kept AS (
  UPDATE candidates SET state = 'held' WHERE job_id = :job AND state = 'preparing' AND EXISTS (SELECT 1 FROM ended)
), closed AS (
  UPDATE runs SET outcome = 'failed', {TRACED}
  WHERE job_id = :job AND outcome IS NULL AND EXISTS (SELECT 1 FROM ended)
), unheard AS ({UNHEARD.format(which="job_id = :job AND EXISTS (SELECT 1 FROM ended)")}
), raised AS ({insert_for("ended", bodies.ATTENTION_RAISED, "body")}
), letter AS (
  INSERT INTO dead_letters (org_id, source, job_id, delivery_id, code, error, attempts, payload, first_seen)
  SELECT :org, :source, id, CAST(:delivery AS bigint), :code, :error, :attempts, CAST(:payload AS jsonb),
         COALESCE(CAST(:first_seen AS timestamptz), clock_timestamp())
  FROM ended WHERE :dead
), told AS ({EVENT.format(of="ended", frm=":from", to="'failed'")})
SELECT id FROM ended
""")


async def fail(
    tx: Transaction,
    conversation: Locked,
    job: Job,
    code: Code,
    reason: str,
    detail: str | None = None,
    *,
    trace: Sequence[TraceItem] = (),
    strategy: Resolved | None = None,
    delivery: DeliveryId | None = None,
    attempts: int | None = None,
    first_seen: datetime | None = None,
    facts: Mapping[str, Any] | None = None,
) -> Ended:
    """Rows 15, 16 and 32. What the contact wrote since is answered by a successor. `reason` is a machine token;
    `detail`, a sentence of ours, is kept in the event and the dead letter. `facts`: more for the event."""
    reason, detail = storable(reason), None if detail is None else storable(detail)
    told = {**(facts or {}), **({} if detail is None else {"detail": detail})}
    await tx.the(
        _FAIL,
        org=conversation.org,
        conversation=conversation.id,
        job=job.id,
        fence=job.fence,
        code=code.value,
        why=reason,
        who="worker",
        facts=as_json(code=code.value, **told),
        trace=traced(trace),
        rules=outcomes(strategy),
        body=bodies.attention_raised(job.id, conversation.name, code, reason, conversation.now),
        **_letter(conversation, job, code, detail or reason, delivery, attempts),
        first_seen=first_seen,
        **{"from": job.state.value},
    )
    if job.replies:
        await successor(tx, conversation, job.seq)
    return Ended(JobState.FAILED, code)


def _letter(
    conversation: Locked, job: Job, code: Code, error: str, delivery: DeliveryId | None, attempts: int | None
) -> dict[str, Any]:
    """What the dead letter says, where the code makes one."""
    return {
        "dead": CODES[code].dead_letter,
        "source": "job" if delivery is None else "delivery",
        "delivery": delivery,
        "error": error,
        "attempts": job.claims if attempts is None else attempts,
        "payload": as_json(conversation=conversation.name, job=reference("job", job.id)),
    }
