"""The contact edits or deletes a message: it counts as something new said while no reply has covered it."""

import json
from dataclasses import replace
from typing import Any

from pipelines.ingestion.normalise import must_hold_something
from schemas.claims import JobState, NoJob
from schemas.conversation import Author
from schemas.decisions import SilenceReason
from schemas.errors import Code, NotFound
from schemas.honesty import Alarm
from schemas.http import AttachmentIn, Ingested, MessagePatch
from schemas.ids import JobId, OrgId, reference
from workers.adapters.postgres import closings, inbound, lessons, silences, summaries
from workers.adapters.postgres.answered import COVERED, NOTHING_LEFT
from workers.adapters.postgres.jobs import JOB, LIVE, Job, send_away
from workers.adapters.postgres.locks import CONTACT_FLAGS, Locked, lock_of_message
from workers.adapters.postgres.transaction import Row, Transaction, sql

_LOOK = sql(f"""
SELECT m.id, m.author, m.seq, m.text, m.attachments, m.deleted_at, m.job_id, {COVERED} AS covered,
       {CONTACT_FLAGS}, {JOB}
FROM messages m
JOIN contacts ct ON ct.id = :contact
LEFT JOIN jobs j ON j.conversation_id = :conversation AND j.kind <> 'delivery' AND j.state IN {LIVE}
WHERE m.org_id = :org AND m.name = :name
""")

# What the contact changes counts as something new said; what is an operator's does not.
_COUNTED = """
WITH counted AS (
  UPDATE conversations
  SET inbound_seq = inbound_seq + 1, last_inbound_at = clock_timestamp(), follow_up_at = NULL
  WHERE id = :conversation AND :from_contact
)"""

_EDIT = sql(f"""
{_COUNTED}, {lessons.FORGOTTEN}, {summaries.FORGOTTEN}, {lessons.WANTED}
UPDATE messages SET text = :text, attachments = CAST(:attachments AS json), edited_at = clock_timestamp()
WHERE id = :message
""")

_DELETE = sql(f"""
{_COUNTED}, {lessons.FORGOTTEN}, {summaries.FORGOTTEN}
UPDATE messages SET text = '', attachments = NULL, deleted_at = clock_timestamp() WHERE id = :message
""")

_ANSWERED_BY = sql("UPDATE messages SET job_id = :job, reason = :reason WHERE id = :message")


async def edit(tx: Transaction, org: OrgId, name: str, patch: MessagePatch, alarm: Alarm | None = None) -> Ingested:
    """`patch` is normalised, `alarm` is what was heard in it. Raises NotFound, Invalid when nothing would be left,
    TooLarge."""
    if alarm is not None:
        await closings.lock_all_of_message(tx, org, name)
    conversation, message = await _find(tx, org, name)
    if message.deleted_at is not None:
        raise NotFound("this message was deleted")
    stored = [AttachmentIn.model_validate(item) for item in message.attachments or []]
    words = message.text if patch.text is None else patch.text
    attachments = stored if patch.attachments is None else patch.attachments
    must_hold_something(words, attachments)
    kept = json.dumps([item.model_dump() for item in attachments]) if attachments else None
    wanted = {"org": org, **lessons.wanted(tx, conversation, message.author == Author.CONTACT)}
    await tx.run(_EDIT, text=words, attachments=kept, **_counts(conversation, message), **wanted)
    return await _follow(tx, conversation, message, name, alarm)


async def delete(tx: Transaction, org: OrgId, name: str) -> Ingested:
    """Raises NotFound. Deleting again changes nothing."""
    conversation, message = await _find(tx, org, name)
    if message.deleted_at is not None:
        return _answer(conversation, name, message.job_id, None, duplicate=True)
    await tx.run(_DELETE, **_counts(conversation, message))
    return await _follow(tx, conversation, message, name)


async def _find(tx: Transaction, org: OrgId, name: str) -> tuple[Locked, Row]:
    conversation = await lock_of_message(tx, org, name)
    if conversation is None:
        raise NotFound("no such message")
    message = await tx.the(_LOOK, org=org, name=name, contact=conversation.contact_id, conversation=conversation.id)
    return conversation, message


def _counts(conversation: Locked, message: Row) -> dict[str, Any]:
    return {
        "message": message.id,
        "conversation": conversation.id,
        "from_contact": message.author == Author.CONTACT,
    }


async def _follow(
    tx: Transaction, conversation: Locked, message: Row, name: str, alarm: Alarm | None = None
) -> Ingested:
    if message.author != Author.CONTACT:
        return _answer(conversation, name, None, NoJob.OPERATOR)
    conversation = replace(conversation, inbound_seq=conversation.inbound_seq + 1)
    job, reason = await _job_for(tx, conversation, message, closings.still_to_do(alarm, message))
    await tx.run(_ANSWERED_BY, message=message.id, job=message.job_id if job is None else job, reason=reason)
    return _answer(conversation, name, job, reason)


async def _job_for(
    tx: Transaction, conversation: Locked, message: Row, alarm: Alarm | None
) -> tuple[JobId | None, NoJob | None]:
    if alarm is not None:
        live = None if message.job is None else Job.of(message)
        number, why = await closings.by_message(tx, conversation, live, alarm)
        if why is NoJob.OPTED_OUT:
            await silences.say(tx, conversation, number, SilenceReason.OPTED_OUT)
        return number, why
    if (closed := conversation.closed_to_ai(message)) is not None:
        return None, closed
    job = None if message.job is None else Job.of(message)
    covered = max(conversation.operator_seq, message.covered)
    if job is None and message.seq <= covered:
        return None, NoJob.ANSWERED
    may_be_empty = job is None or job.state is JobState.QUEUED
    if may_be_empty and (await tx.the(NOTHING_LEFT, conversation=conversation.id, covered=covered)).nothing:
        return await _nothing_to_answer(tx, conversation, job)
    return await inbound.answer(tx, conversation, job), None


async def _nothing_to_answer(
    tx: Transaction, conversation: Locked, job: Job | None
) -> tuple[JobId | None, NoJob | None]:
    """All that waited for a reply is deleted: the queued job has nothing left to do."""
    if job is None:
        return None, NoJob.NOTHING_TO_ANSWER
    await send_away(
        tx,
        conversation,
        job,
        JobState.SILENT,
        NoJob.NOTHING_TO_ANSWER,
        "contact",
        answers=conversation.inbound_seq,
        code=Code.NOTHING_TO_ANSWER,
    )
    await silences.say(tx, conversation, job.id, SilenceReason.NOTHING_TO_ANSWER)
    return job.id, NoJob.NOTHING_TO_ANSWER


def _answer(
    conversation: Locked, name: str, job: JobId | None, reason: NoJob | None, duplicate: bool = False
) -> Ingested:
    return Ingested(
        message=name,
        conversation=conversation.name,
        job=None if job is None else reference("job", job),
        duplicate=duplicate,
        reason=reason,
    )
