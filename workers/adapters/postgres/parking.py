"""The provider cannot answer now: the job waits in the database with its run, or fails when that went on too long."""

from schemas.claims import Ended, Requeued
from schemas.decisions import Parked
from schemas.errors import Code, FailureKind
from workers.adapters.postgres.failures import fail
from workers.adapters.postgres.jobs import AT_REST, EVENT, Job, facts
from workers.adapters.postgres.locks import Locked
from workers.adapters.postgres.steps import TRACED, traced
from workers.adapters.postgres.transaction import Transaction, sql

MAX_TRIES = 8
LONGEST_BACKOFF = 120.0
SPREAD = 0.25
"""Jobs that a provider sent away together come back over a quarter more than the time it named."""

_HOPELESS = frozenset({FailureKind.PERMANENT, FailureKind.CONTEXT_OVERFLOW})

_PARK = sql(f"""
WITH parked AS (
  UPDATE jobs
  SET state = 'queued', tries = :tries, crashes = 0, reason = :reason, {AT_REST},
      parked_until = clock_timestamp() + make_interval(secs => :pause),
      due_at = clock_timestamp() + make_interval(secs => :pause)
  WHERE id = :job AND fence = :fence AND state = 'running'
  RETURNING id, due_at
), kept AS (
  UPDATE runs SET active_seconds = GREATEST(active_seconds, :active_seconds), {TRACED}
  WHERE job_id = :job AND outcome IS NULL AND EXISTS (SELECT 1 FROM parked)
), told AS ({EVENT.format(of="parked", frm="'running'", to="'queued'")})
SELECT due_at FROM parked
""")


async def park(tx: Transaction, conversation: Locked, job: Job, parked: Parked) -> Requeued | Ended:
    """Rows 11 and 12. What counts is the run's to say; a date that came along only sets the pause."""
    tries = job.tries + parked.counts
    if parked.kind in _HOPELESS or tries >= MAX_TRIES:
        return await fail(
            tx, conversation, job, Code.MODELS_FAILED, parked.kind.value, parked.sentence, trace=parked.trace
        )
    spread = 1 + SPREAD * tx.chance()
    pause = parked.retry_after * spread if parked.retry_after else min(2.0**tries * spread, LONGEST_BACKOFF)
    row = await tx.the(
        _PARK,
        org=conversation.org,
        conversation=conversation.id,
        job=job.id,
        fence=job.fence,
        tries=tries,
        pause=pause,
        reason=parked.kind.value,
        active_seconds=parked.active_seconds,
        trace=traced(parked.trace),
        who="worker",
        why=parked.kind.value,
        facts=facts(pause=round(pause, 3), tries=tries),
    )
    return Requeued(row.due_at)
