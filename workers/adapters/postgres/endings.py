"""The last bubble is out: the job has been sent."""

from schemas.claims import JobState
from workers.adapters.postgres.jobs import AT_REST, EVENT, Job, successor
from workers.adapters.postgres.locks import Locked
from workers.adapters.postgres.transaction import Transaction, sql

END = f"""
UPDATE jobs SET state = 'sent', due_at = NULL, crashes = 0, {AT_REST}, on_hold = false, rest = NULL,
                ended_at = clock_timestamp()
WHERE id = :job AND state = :from AND fence = :fence
RETURNING id
"""
"""SQL that ends a job as sent; binds `job`, `from` and `fence`."""

_SENT = sql(f"""
WITH ended AS ({END}), told AS ({EVENT.format(of="ended", frm=":from", to="'sent'")})
SELECT id FROM ended
""")


async def sent(tx: Transaction, conversation: Locked, job: Job, why: str, who: str = "worker") -> JobState:
    """Row 31: the job ends, and what came while it stood gets its successor."""
    await tx.the(
        _SENT,
        org=conversation.org,
        conversation=conversation.id,
        job=job.id,
        fence=job.fence,
        who=who,
        why=why,
        facts=None,
        **{"from": job.state.value},
    )
    if job.replies:
        await successor(tx, conversation, job.seq)
    return JobState.SENT
