"""What operators do to a job or a conversation. A call that comes too late says what it found."""

from collections.abc import Mapping

from schemas.claims import CandidateState, JobState
from schemas.conversation import Flag, HandledBy, Trigger
from schemas.errors import Code, NotFound, TooLate
from schemas.ids import CandidateId, JobId, OrgId
from schemas.jobs import DelayedSend
from workers.adapters.postgres import attention, prepared, retries, silences_held
from workers.adapters.postgres.answered import NOTHING_LEFT, answered
from workers.adapters.postgres.audit import note, note_job
from workers.adapters.postgres.dispatch_now import DISPATCHED_SEND
from workers.adapters.postgres.jobs import (
    CANCELLED,
    EVENT,
    NO_COMPLAINT,
    Job,
    live,
    make,
    read_or_refuse,
    send_away,
    successor,
)
from workers.adapters.postgres.late import too_late
from workers.adapters.postgres.locks import Locked, lock_by_name, lock_of_job
from workers.adapters.postgres.transaction import Transaction, sql

_APPROVE = sql(f"""
WITH approved AS (
  UPDATE jobs SET due_at = clock_timestamp(), on_hold = false, rest = NULL, {NO_COMPLAINT},
                  dispatched_at = {DISPATCHED_SEND}
  WHERE id = :job AND state = 'held' AND fence = :fence AND ending IS NULL
  RETURNING id, dispatched_at
), told AS ({EVENT.format(of="approved", frm="'held'", to="'held'")})
SELECT dispatched_at IS NOT NULL AS dispatched FROM approved
""")

_CANDIDATES = sql("SELECT id, state FROM candidates WHERE job_id = :job ORDER BY ordinal, id")

_HANDLE = sql("""
UPDATE conversations SET handled_by = :by, handled_by_who = :who, handled_at = clock_timestamp(), follow_up_at = NULL
WHERE id = :conversation
""")


async def approve(tx: Transaction, org: OrgId | None, job_id: JobId, who: str) -> None:
    conversation = await lock_of_job(tx, org, job_id)
    job = await read_or_refuse(tx, conversation, job_id)
    if job.state is JobState.FAILED:
        await _approve_prepared(tx, conversation, job, who)
        return
    if job.state is not JobState.HELD:
        raise await too_late(tx, job)
    row = await tx.one(
        _APPROVE,
        org=conversation.org,
        conversation=conversation.id,
        job=job.id,
        fence=job.fence,
        fast=True,
        cap=conversation.organization.spec.limits.in_flight,
        who=who,
        why="send_now",
        facts=None,
    )
    if row is None:
        await silences_held.carry_out(tx, conversation, job, who)
    await note_job(tx, conversation.org, who, "job.approved", job.id)
    if row is not None and row.dispatched:
        tx.hints.append(DelayedSend(conversation=conversation.id, job=job.id))


async def _approve_prepared(tx: Transaction, conversation: Locked, job: Job, who: str) -> None:
    """Row 17 after AR-531: the true replies that lie ready are sent."""
    look = await retries.look_at(tx, conversation, job)
    if look.code != Code.IDENTITY_QUESTION:
        raise await too_late(tx, job)
    await retries.must_be_free(tx, conversation, job, look)
    if conversation.paused or not await prepared.send(tx, conversation, job, who):
        raise await too_late(tx, job, reason="paused" if conversation.paused else "no prepared reply is left")
    await note_job(tx, conversation.org, who, "job.approved", job.id)


async def cancel(tx: Transaction, org: OrgId | None, job_id: JobId, who: str) -> Mapping[CandidateId, CandidateState]:
    """In `sending` it is too late unless a bubble was stopped; the raise takes everything back."""
    conversation = await lock_of_job(tx, org, job_id)
    job = await read_or_refuse(tx, conversation, job_id)
    if not job.state.live:
        raise await too_late(tx, job)
    if not job.replies:
        await _cancel_purchase(tx, conversation, job, who)
        return await _states(tx, job)
    late = await too_late(tx, job) if job.state is JobState.SENDING else None
    # A job answers all that is unanswered, so does its cancel; what came after a pinned one is still to be answered.
    answers = job.seq if job.pinned else conversation.inbound_seq
    stopped = await send_away(tx, conversation, job, JobState.CANCELLED, CANCELLED, who, answers=answers)
    if late is not None and not stopped:
        raise late
    await successor(tx, conversation, answers)
    await note_job(tx, conversation.org, who, "job.cancelled", job.id, stopped=stopped)
    return await _states(tx, job)


async def _cancel_purchase(tx: Transaction, conversation: Locked, job: Job, who: str) -> None:
    """Row 20 of what was paid for: as of any reply, it is too late when nothing could be stopped. A person is told that
    money was taken; what has not left counts as bought until it goes back, and `retry` delivers it after all."""
    if not job.bought:
        to_do = "leave it: it says to the contact what has happened"
        raise await too_late(tx, job, to_do=to_do, never=True, reason="a closing notice is not stopped")
    late = await too_late(tx, job)
    stopped = await send_away(tx, conversation, job, JobState.CANCELLED, CANCELLED, who)
    if not stopped:
        raise late
    await attention.flag(tx, conversation, job, Flag.PAID_CANCELLED)
    await note_job(tx, conversation.org, who, "job.cancelled", job.id, stopped=stopped, refund=Flag.PAID_CANCELLED)


async def _states(tx: Transaction, job: Job) -> Mapping[CandidateId, CandidateState]:
    rows = await tx.all(_CANDIDATES, job=job.id)
    return {CandidateId(row.id): CandidateState(row.state) for row in rows}


async def takeover(tx: Transaction, org: OrgId, name: str, who: str) -> None:
    conversation = await _named(tx, org, name)
    if conversation.handled_by is HandledBy.HUMAN:
        raise TooLate(conversation.handled_by.value, by=conversation.handled_by_who, at=conversation.handled_at)
    await tx.run(_HANDLE, conversation=conversation.id, by=HandledBy.HUMAN.value, who=who)
    await note(tx, org, who, "conversation.taken_over", conversation.name)
    if (job := await live(tx, conversation)) is not None:
        await send_away(tx, conversation, job, JobState.CANCELLED, "takeover", who)


async def resume(tx: Transaction, org: OrgId, name: str, who: str) -> JobId | None:
    conversation = await _named(tx, org, name)
    if conversation.handled_by is HandledBy.AI:
        raise TooLate(conversation.handled_by.value, by=conversation.handled_by_who, at=conversation.handled_at)
    await tx.run(_HANDLE, conversation=conversation.id, by=HandledBy.AI.value, who=who)
    await note(tx, org, who, "conversation.resumed", conversation.name)
    covered = await answered(tx, conversation)
    if (await tx.the(NOTHING_LEFT, conversation=conversation.id, covered=covered)).nothing:
        return None
    return await make(tx, conversation, why="resume", who=who, trigger=Trigger.RESUME, quiet=0)


async def _named(tx: Transaction, org: OrgId, name: str) -> Locked:
    conversation = await lock_by_name(tx, org, name)
    if conversation is None:
        raise NotFound("no such conversation")
    return conversation
