"""What a call that comes too late for a job is told: who moved it, when, and what can be done now."""

from pipelines.ops import again
from schemas.errors import TooLate
from workers.adapters.postgres.jobs import Job
from workers.adapters.postgres.retriable import LOOK, facts_of
from workers.adapters.postgres.transaction import Transaction, sql

# What became of one bubble moves that one, not its job.
_LAST_EVENT = sql("""
SELECT who, at FROM job_events
WHERE job_id = :job AND (from_state IS DISTINCT FROM to_state
                         OR :steered AND why NOT IN ('edited', 'dropped', 'notice_due', 'accepted'))
ORDER BY id DESC LIMIT 1
""")
_ENDED = sql(LOOK)


async def too_late(
    tx: Transaction, job: Job, steered: bool = False, to_do: str | None = None, never: bool = False, **more: object
) -> TooLate:
    """What a call that found `job` in the wrong state answers: who moved it there, and when. A bubble has its own:
    `bubble_moves`.

    `steered`: the call is about what changes within a state (on hold, on the attention list), so that counts as well;
    `to_do` and `never` as of `TooLate`: where more decides than the job's state; `more` are further facts.
    """
    event = await tx.one(_LAST_EVENT, job=job.id, steered=steered)
    by, at = (event.who, event.at) if event else (None, None)
    if to_do is None and not job.state.live:
        to_do = await _to_do(tx, job)
    return TooLate(job.state.value, by=by, at=at, to_do=to_do, never=never, **more)


async def _to_do(tx: Transaction, job: Job) -> str | None:
    """What is advised is not refused: it follows from the same facts."""
    row = await tx.one(_ENDED, job=job.id)
    return None if row is None else again.to_do(facts_of(row))
