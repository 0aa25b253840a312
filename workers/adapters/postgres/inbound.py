"""The contact did something: what becomes of the conversation's live job, or which new one answers."""

from schemas.claims import JobState
from schemas.ids import JobId
from workers.adapters.postgres.jobs import EVENT, MAX_SUPERSEDES, Job, make, send_away
from workers.adapters.postgres.locks import Locked
from workers.adapters.postgres.transaction import Transaction, sql

_DEBOUNCE = sql(f"""
WITH moved AS (
  UPDATE jobs
  SET inbound_seq = :seq, dispatched_at = NULL,
      due_at = GREATEST(LEAST(clock_timestamp() + make_interval(secs => :quiet),
                              first_message_at + make_interval(secs => :max_wait)),
                        parked_until, CAST(:paused_until AS timestamptz))
  WHERE id = :job AND state = 'queued' AND fence = :fence
  RETURNING id
), told AS ({EVENT.format(of="moved", frm="'queued'", to="'queued'")})
SELECT id FROM moved
""")

_PIN = sql(f"""
WITH pinned AS (
  UPDATE jobs SET pinned = true WHERE id = :job AND state = :state AND fence = :fence RETURNING id
), told AS ({EVENT.format(of="pinned", frm=":state", to=":state")})
SELECT id FROM pinned
""")


async def answer(tx: Transaction, conversation: Locked, job: Job | None) -> JobId | None:
    """The job that answers what the contact just did. `conversation.inbound_seq` counts it already."""
    if job is None:
        return await make(tx, conversation, why="message", who="contact")
    if job.kind == "follow_up":
        await send_away(tx, conversation, job, JobState.SUPERSEDED, "contact_wrote", "contact")
        return await make(tx, conversation, why="message", who="contact")
    if job.pinned or job.state is JobState.RUNNING:
        # A run sees the new count when it saves or records; what is pinned stands, and is followed by a successor.
        return job.id
    if job.state is JobState.QUEUED:
        return await _debounce(tx, conversation, job)
    if job.supersedes >= MAX_SUPERSEDES:
        await pin(tx, conversation, job, "superseded_too_often")
        return job.id
    await send_away(tx, conversation, job, JobState.SUPERSEDED, "newer_message", "contact")
    return await make(tx, conversation, why="newer_message", who="contact", supersedes=job.supersedes + 1)


async def pin(tx: Transaction, conversation: Locked, job: Job, why: str) -> None:
    """From now on the job stands: a contact who never pauses is answered all the same."""
    await tx.the(
        _PIN,
        org=conversation.org,
        conversation=conversation.id,
        job=job.id,
        state=job.state.value,
        fence=job.fence,
        who="system",
        why=why,
        facts=None,
    )


async def _debounce(tx: Transaction, conversation: Locked, job: Job) -> JobId:
    debounce = conversation.persona.spec.debounce
    await tx.the(
        _DEBOUNCE,
        org=conversation.org,
        conversation=conversation.id,
        job=job.id,
        fence=job.fence,
        seq=conversation.inbound_seq,
        quiet=debounce.quiet_seconds,
        max_wait=debounce.max_wait_seconds,
        paused_until=conversation.paused_until,
        who="contact",
        why="debounce",
        facts=None,
    )
    return job.id
