"""A person has looked at what needed one: it leaves the attention list, with a reason."""

from schemas.ids import JobId, OrgId
from workers.adapters.postgres.audit import note_job
from workers.adapters.postgres.jobs import read_or_refuse, tell, too_late
from workers.adapters.postgres.locks import lock_of_job
from workers.adapters.postgres.transaction import Transaction, sql

_DISMISS = sql("UPDATE jobs SET attention = 'dismissed' WHERE id = :job AND attention = 'open'")


async def dismiss(tx: Transaction, org: OrgId | None, job_id: JobId, reason: str, who: str) -> None:
    """Raises NotFound, TooLate (nothing waits for a person, or somebody was faster)."""
    conversation = await lock_of_job(tx, org, job_id)
    job = await read_or_refuse(tx, conversation, job_id)
    if not await tx.run(_DISMISS, job=job.id):
        raise await too_late(tx, job, reason="it is not on the attention list")
    await tell(tx, conversation, job, "dismissed", who, reason=reason)
    await note_job(tx, conversation.org, who, "attention.dismissed", job.id, reason=reason)
