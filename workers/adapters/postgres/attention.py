"""A person has looked at what needed one: it leaves the attention list, with a reason."""

from pipelines.delivery import bodies
from schemas.conversation import Flag
from schemas.ids import JobId, OrgId
from workers.adapters.postgres.audit import note_job
from workers.adapters.postgres.jobs import Job, read_or_refuse, tell
from workers.adapters.postgres.late import too_late
from workers.adapters.postgres.locks import Locked, lock_of_job
from workers.adapters.postgres.transaction import Transaction, sql
from workers.adapters.postgres.webhooks import insert_for

# Told within a day: of one contact and persona. Only asked when there is something to tell.
_TOLD = """SELECT 1 FROM conversations oc JOIN jobs oj ON oj.conversation_id = oc.id
  WHERE oc.contact_id = :contact AND oc.persona_id = :persona AND oj.id <> :job
    AND CAST(:why AS text) = ANY(string_to_array(oj.note, '; '))
    AND oj.created_at > clock_timestamp() - interval '24 hours'"""

_FLAG = sql(f"""
WITH flagged AS (
  UPDATE jobs SET attention = 'open', note = CASE WHEN note IS NULL THEN :why ELSE note || '; ' || :why END
  WHERE id = :job AND NOT (CAST(:once AS boolean) AND EXISTS ({_TOLD}))
  RETURNING id
), raised AS ({insert_for("flagged", bodies.ATTENTION_RAISED, "body")})
SELECT id FROM flagged
""")
_DISMISS = sql("UPDATE jobs SET attention = 'dismissed' WHERE id = :job AND attention = 'open'")


_ONCE_A_DAY = frozenset({Flag.SPEND, Flag.LINKS})
"""What stays true for the rest of the day: a person is told once a contact and persona, not with each reply."""


async def flag(tx: Transaction, conversation: Locked, job: Job, why: Flag) -> None:
    """A reply goes its way, and a person is told of it: the attention list and a webhook, without a code."""
    body = bodies.attention_raised(job.id, conversation.name, None, why, conversation.now)
    await tx.run(
        _FLAG,
        org=conversation.org,
        conversation=conversation.id,
        contact=conversation.contact_id,
        persona=conversation.persona.id,
        job=job.id,
        why=why.value,
        once=why in _ONCE_A_DAY,
        body=body,
    )


async def dismiss(tx: Transaction, org: OrgId | None, job_id: JobId, reason: str, who: str) -> None:
    """Raises NotFound, TooLate (nothing waits for a person, or somebody was faster)."""
    conversation = await lock_of_job(tx, org, job_id)
    job = await read_or_refuse(tx, conversation, job_id)
    if not await tx.run(_DISMISS, job=job.id):
        raise await too_late(tx, job, steered=True, reason="it is not on the attention list")
    await tell(tx, conversation, job, "dismissed", who, reason=reason)
    await note_job(tx, conversation.org, who, "attention.dismissed", job.id, reason=reason)
