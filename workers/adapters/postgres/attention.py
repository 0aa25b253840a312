"""A person has looked at what needed one: it leaves the attention list, with a reason."""

from pipelines.delivery import bodies
from schemas.ids import JobId, OrgId
from workers.adapters.postgres.audit import note_job
from workers.adapters.postgres.jobs import Job, read_or_refuse, tell, too_late
from workers.adapters.postgres.locks import Locked, lock_of_job
from workers.adapters.postgres.transaction import Transaction, sql
from workers.adapters.postgres.webhooks import insert_for

_FLAG = sql(f"""
WITH flagged AS (
  UPDATE jobs SET attention = 'open', note = CASE WHEN note IS NULL THEN :why ELSE note || '; ' || :why END
  WHERE id = :job
  RETURNING id
), raised AS ({insert_for("flagged", bodies.ATTENTION_RAISED, "body")})
SELECT id FROM flagged
""")
_DISMISS = sql("UPDATE jobs SET attention = 'dismissed' WHERE id = :job AND attention = 'open'")


async def flag(tx: Transaction, conversation: Locked, job: Job, why: str) -> None:
    """A reply goes its way, and a person is told of it: the attention list and a webhook, without a code."""
    body = bodies.attention_raised(job.id, conversation.name, None, why, conversation.now)
    await tx.the(_FLAG, org=conversation.org, conversation=conversation.id, job=job.id, why=why, body=body)


async def dismiss(tx: Transaction, org: OrgId | None, job_id: JobId, reason: str, who: str) -> None:
    """Raises NotFound, TooLate (nothing waits for a person, or somebody was faster)."""
    conversation = await lock_of_job(tx, org, job_id)
    job = await read_or_refuse(tx, conversation, job_id)
    if not await tx.run(_DISMISS, job=job.id):
        raise await too_late(tx, job, reason="it is not on the attention list")
    await tell(tx, conversation, job, "dismissed", who, reason=reason)
    await note_job(tx, conversation.org, who, "attention.dismissed", job.id, reason=reason)
