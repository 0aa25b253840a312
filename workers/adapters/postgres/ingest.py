"""A message arrives: stored once, and answered by a job or a reason in the same transaction."""

import json
from dataclasses import dataclass, replace

from pipelines.ingestion.dedupe import fingerprint
from schemas.claims import JobState, NoJob
from schemas.conversation import HandledBy
from schemas.decisions import SilenceReason
from schemas.errors import Conflict
from schemas.honesty import Alarm
from schemas.http import Ingested, MessageIn
from schemas.ids import JobId, OrgId, reference
from workers.adapters.postgres import closings, inbound, lessons, openings, seen, silences
from workers.adapters.postgres.jobs import JOB, LIVE, Job, send_away
from workers.adapters.postgres.locks import CONTACT_FLAGS, Locked, lock_by_name
from workers.adapters.postgres.transaction import Row, Transaction, sql

_LOOK = sql(f"""
SELECT ct.display_name, ct.locale, ct.timezone, ct.profile, {CONTACT_FLAGS}, m.id IS NOT NULL AS seen, {JOB}
FROM contacts ct
LEFT JOIN messages m ON m.org_id = :org AND m.name = :name
LEFT JOIN jobs j ON j.conversation_id = :conversation AND j.kind <> 'delivery' AND j.state IN {LIVE}
WHERE ct.id = :contact
""")

_STORE = sql(f"""
WITH stored AS (
  INSERT INTO messages (org_id, conversation_id, name, author, position, seq, text, attachments, body_hash, sent_at,
                        job_id, reason)
  VALUES (:org, :conversation, :name, :author, :position, :seq, :text, CAST(:attachments AS json), :body_hash,
          CAST(:sent_at AS timestamptz), :job, :reason)
  ON CONFLICT (org_id, name) DO NOTHING
  RETURNING id
), counted AS (
  UPDATE conversations
  SET inbound_seq = :inbound_seq, last_position = :position, operator_seq = :operator_seq, follow_up_at = NULL,
      last_inbound_at = CASE WHEN :from_contact THEN clock_timestamp() ELSE last_inbound_at END
  WHERE id = :conversation
), {lessons.WANTED}
SELECT id FROM stored
""")

_HAND_TO_HUMAN = sql("""
UPDATE conversations SET handled_by = 'human', handled_by_who = :who, handled_at = clock_timestamp()
WHERE id = :conversation AND handled_by <> 'human'
""")


class SeenElsewhere(Exception):
    """Another conversation stored a message under this id a moment ago: nothing of ours may stay."""


class ErasedMeanwhile(Exception):
    """The contact was erased while this message opened a conversation with them: it is to be somebody new's."""


@dataclass(frozen=True, slots=True)
class Outcome:
    job: JobId | None
    reason: str | None = None


async def arrive(tx: Transaction, org: OrgId, message: MessageIn, alarm: Alarm | None = None) -> Ingested:
    """`message` is normalised, `alarm` is what was heard in it. Raises Invalid, Conflict, SeenElsewhere,
    ErasedMeanwhile."""
    if alarm is not None:
        await closings.lock_all_of_sender(tx, org, message)
    conversation = await lock_by_name(tx, org, message.conversation)
    if conversation is None:
        conversation = await openings.open_conversation(tx, org, message)
    if conversation is None or _mismatch(conversation, message):
        if (first := await seen.answer(tx, org, message)) is not None:
            return first
        conversation = await _opened_meanwhile(tx, org, message)
    look = await tx.the(_LOOK, org=org, name=message.id, conversation=conversation.id, contact=conversation.contact_id)
    if look.erased and conversation.last_position == 0:
        raise ErasedMeanwhile
    if look.seen:
        return await seen.answer_known(tx, org, message)
    if message.contact is not None and openings.changes(look, message.contact):
        await openings.merge(tx, conversation, message.contact)
    return await _take_in(tx, conversation, look, message, alarm)


async def _opened_meanwhile(tx: Transaction, org: OrgId, message: MessageIn) -> Locked:
    """Another message was quicker: it made the conversation, if this one belongs there, or only the contact."""
    conversation = await lock_by_name(tx, org, message.conversation)
    if conversation is None:
        conversation = await openings.open_conversation(tx, org, message)
    if conversation is None:
        if await openings.may_be_opened(tx, org, message):
            raise ErasedMeanwhile
        raise await openings.refused(tx, org, message)
    if (other := _mismatch(conversation, message)) is not None:
        raise Conflict(f"conversation {message.conversation!r} has another {other}")
    return conversation


async def _take_in(
    tx: Transaction, conversation: Locked, look: Row, message: MessageIn, alarm: Alarm | None
) -> Ingested:
    job = None if look.job is None else Job.of(look)
    if message.author == "operator":
        outcome = await _operator_wrote(tx, conversation, job)
        conversation = replace(conversation, operator_seq=conversation.inbound_seq)
    else:
        conversation = replace(conversation, inbound_seq=conversation.inbound_seq + 1)
        outcome = await _contact_wrote(tx, conversation, look, job, closings.still_to_do(alarm, look))
    await _store(tx, conversation, message, outcome)
    if outcome.job is not None and outcome.reason is NoJob.OPTED_OUT:
        await silences.say(tx, conversation, outcome.job, SilenceReason.OPTED_OUT)
    return Ingested(
        message=message.id,
        conversation=conversation.name,
        job=None if outcome.job is None else reference("job", outcome.job),
        reason=outcome.reason,
    )


async def _contact_wrote(
    tx: Transaction, conversation: Locked, look: Row, job: Job | None, alarm: Alarm | None
) -> Outcome:
    """Whoever handles the conversation: a wish for silence and a danger are heard."""
    if alarm is not None:
        return Outcome(*await closings.by_message(tx, conversation, job, alarm))
    closed = conversation.closed_to_ai(look)
    return Outcome(None, closed) if closed else Outcome(await inbound.answer(tx, conversation, job))


async def _operator_wrote(tx: Transaction, conversation: Locked, job: Job | None) -> Outcome:
    """A person has written, from wherever: the AI stands back until it is called again."""
    if conversation.handled_by is not HandledBy.HUMAN:
        await tx.run(_HAND_TO_HUMAN, conversation=conversation.id, who="operator")
    if job is not None:
        await send_away(tx, conversation, job, JobState.CANCELLED, "operator_wrote", "operator")
    return Outcome(None, NoJob.OPERATOR)


async def _store(tx: Transaction, conversation: Locked, message: MessageIn, outcome: Outcome) -> None:
    from_contact = message.author == "contact"
    stored = await tx.one(
        _STORE,
        org=conversation.org,
        conversation=conversation.id,
        name=message.id,
        author=message.author,
        position=conversation.last_position + 1,
        seq=conversation.inbound_seq if from_contact else None,
        text=message.text,
        attachments=json.dumps([item.model_dump() for item in message.attachments]) if message.attachments else None,
        body_hash=fingerprint(message),
        sent_at=message.sent_at,
        job=outcome.job,
        reason=outcome.reason,
        inbound_seq=conversation.inbound_seq,
        operator_seq=conversation.operator_seq,
        from_contact=from_contact,
        **lessons.wanted(tx, conversation, from_contact),
    )
    if stored is None:
        raise SeenElsewhere


def _mismatch(conversation: Locked, message: MessageIn) -> str | None:
    if conversation.persona.name != message.persona:
        return "persona"
    if message.contact is not None and message.contact.id != conversation.contact:
        return "contact"
    return None
