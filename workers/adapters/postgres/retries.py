"""An ended job is run again, or a held reply is drafted again: the same job, from the start.

Only the newest job of a conversation: an older one would answer old news.
"""

from schemas.claims import JobState, NoJob
from schemas.conversation import HandledBy, Trigger
from schemas.errors import Code, TooLate
from schemas.ids import JobId, OrgId, reference
from schemas.jobs import AutoReply
from workers.adapters.postgres import redelivery
from workers.adapters.postgres.audit import note_job
from workers.adapters.postgres.dispatch_now import DISPATCHED_REPLY
from workers.adapters.postgres.jobs import CANCELLED, EVENT, LETTERS_ANSWERED, Job, read_or_refuse
from workers.adapters.postgres.late import too_late
from workers.adapters.postgres.locks import CONTACT_FLAGS, Locked, lock_of_job
from workers.adapters.postgres.retriable import HAS_LEFT
from workers.adapters.postgres.transaction import Row, Transaction, sql

_ENDED = frozenset({JobState.FAILED, JobState.SILENT, JobState.CANCELLED})

_LOOK = sql(f"""
SELECT {CONTACT_FLAGS}, (SELECT code FROM jobs WHERE id = :job) AS code,
       (SELECT reason FROM jobs WHERE id = :job) AS reason,
       (SELECT id FROM jobs WHERE conversation_id = :conversation AND kind <> 'delivery'
        ORDER BY id DESC LIMIT 1) AS newest,
       {HAS_LEFT.format(job=":job")} AS has_left
FROM contacts ct WHERE ct.id = :contact
""")

_REFUNDED = sql("""
SELECT EXISTS (SELECT 1 FROM payments WHERE delivery_job_id = :job AND state = 'refunded') AS refunded
""")

_AGAIN = sql(f"""
WITH again AS (
  UPDATE jobs
  SET state = 'queued', queue = 'reply', trigger = :trigger, engine = :engine, inbound_seq = :seq, pinned = false,
      restarts = 0, supersedes = 0, tries = 0, crashes = 0, parked_until = NULL, first_message_at = clock_timestamp(),
      on_hold = false, rest = NULL, code = NULL, reason = NULL, note = NULL, attention = NULL,
      instruction = :instruction, ending = NULL, ended_at = NULL, lease_until = NULL, leased_by = NULL,
      fence = fence + 1,
      due_at = GREATEST(clock_timestamp(), CAST(:paused_until AS timestamptz)), dispatched_at = {DISPATCHED_REPLY}
  WHERE id = :job AND state = :from AND fence = :fence
  RETURNING id, dispatched_at
), recalled AS (
  UPDATE candidates SET state = 'recalled', reason = :why
  WHERE job_id = :job AND state IN ('held', 'preparing') AND EXISTS (SELECT 1 FROM again)
), unplanned AS (
  UPDATE conversations SET follow_up_at = NULL
  WHERE id = :conversation AND follow_up_at IS NOT NULL AND EXISTS (SELECT 1 FROM again)
), answered AS ({LETTERS_ANSWERED}
), told AS ({EVENT.format(of="again", frm=":from", to="'queued'")})
SELECT dispatched_at IS NOT NULL AS dispatched FROM again
""")


async def regenerate(tx: Transaction, org: OrgId | None, job_id: JobId, who: str, instruction: str | None) -> None:
    """Row 23: what was drafted is recalled, the job is thought through again for all the contact has said."""
    conversation = await lock_of_job(tx, org, job_id)
    job = await read_or_refuse(tx, conversation, job_id)
    if not job.replies:
        raise await too_late(tx, job, reason="it answers nothing")
    look = await look_at(tx, conversation, job)
    if job.state is not JobState.HELD:
        await must_be_free(tx, conversation, job, look)
    if look.has_left:
        raise await too_late(tx, job, reason="a bubble has left")
    await _again(tx, conversation, job, Trigger.REGENERATE, who, instruction)
    await note_job(tx, conversation.org, who, "job.regenerated", job.id, instruction=instruction)


async def retry(tx: Transaction, org: OrgId | None, job_id: JobId, who: str) -> None:
    """Row 24, and 25 for a reply whose delivery was given up: that one is delivered again, not thought again."""
    conversation = await lock_of_job(tx, org, job_id)
    job = await read_or_refuse(tx, conversation, job_id)
    look = await look_at(tx, conversation, job)
    if not job.replies:
        await _owed_still(tx, conversation, job, look)
        await redelivery.deliver_again(tx, conversation, job, who)
        await note_job(tx, conversation.org, who, "job.retried", job.id, code=look.code)
        return
    await must_be_free(tx, conversation, job, look)
    if job.state is JobState.FAILED and look.code == Code.DELIVERY:
        await redelivery.deliver_again(tx, conversation, job, who)
    elif look.has_left:
        raise await too_late(tx, job, reason="a bubble has left")
    else:
        await _again(tx, conversation, job, Trigger.RETRY, who, None)
    await note_job(tx, conversation.org, who, "job.retried", job.id, code=look.code)


async def _owed_still(tx: Transaction, conversation: Locked, job: Job, look: Row) -> None:
    """Its delivery was given up, or a person had cancelled it, or a safety lock that is open again had stopped it; and
    nobody has given the money back since."""
    stopped = job.bought and job.state is JobState.CANCELLED and look.reason in (NoJob.SAFETY_LOCK, CANCELLED)
    if not stopped and (job.state is not JobState.FAILED or look.code != Code.DELIVERY):
        raise await too_late(tx, job)
    if look.erased or (job.bought and look.locked):
        raise await too_late(tx, job, reason=(NoJob.ERASED if look.erased else NoJob.SAFETY_LOCK).value)
    if (await tx.the(_REFUNDED, job=job.id)).refunded:
        raise await too_late(tx, job, reason="refunded")


async def look_at(tx: Transaction, conversation: Locked, job: Job) -> Row:
    return await tx.the(_LOOK, job=job.id, conversation=conversation.id, contact=conversation.contact_id)


async def must_be_free(tx: Transaction, conversation: Locked, job: Job, look: Row) -> None:
    """The job has ended without a reply, none came after it, and the AI may answer."""
    if look.newest != job.id:
        raise await too_late(tx, job, newer_job=reference("job", look.newest))
    if job.state not in _ENDED:
        raise await too_late(tx, job)
    if conversation.handled_by is not HandledBy.AI:
        raise TooLate(conversation.handled_by.value, by=conversation.handled_by_who, at=conversation.handled_at)
    if (closed := conversation.closed_to_ai(look)) is not None:
        raise await too_late(tx, job, reason=closed.value)


async def _again(
    tx: Transaction, conversation: Locked, job: Job, trigger: Trigger, who: str, instruction: str | None
) -> None:
    row = await tx.the(
        _AGAIN,
        org=conversation.org,
        conversation=conversation.id,
        job=job.id,
        fence=job.fence,
        trigger=trigger.value,
        engine=conversation.persona.spec.engine,
        seq=conversation.inbound_seq,
        instruction=instruction,
        paused_until=conversation.paused_until,
        fast=not conversation.paused,
        cap=conversation.organization.spec.limits.in_flight,
        who=who,
        why=trigger.value,
        facts=None,
        **{"from": job.state.value},
    )
    if row.dispatched:
        tx.hints.append(AutoReply(conversation=conversation.id, job=job.id))
