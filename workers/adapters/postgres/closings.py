"""Row 36: a contact wants silence, or a safety stop locks them. It holds for all their conversations, at once.

All of them are locked before anything else, in the order of their ids, so that two closings never wait for each other.
The flag on the contact is the truth, asked by every gate; what is live is taken away in the same transaction.
"""

from collections.abc import Sequence
from dataclasses import replace

from pipelines.delivery.closing import words_for
from schemas.claims import JobState, NoJob
from schemas.conversation import BubbleKind, Flag
from schemas.errors import Code
from schemas.honesty import Alarm
from schemas.http import MessageIn
from schemas.ids import JobId, OrgId
from schemas.jobs import DelayedSend
from workers.adapters.postgres import attention, closed_links, failures, inbound
from workers.adapters.postgres.dispatch_now import DISPATCHED_SEND
from workers.adapters.postgres.jobs import EVENT, JOB, LIVE, Job, read_or_refuse, send_away
from workers.adapters.postgres.locks import Locked, lock
from workers.adapters.postgres.transaction import Row, Transaction, sql

_ALL = "SELECT c.id FROM conversations c WHERE c.contact_id = {whose} ORDER BY c.id FOR NO KEY UPDATE"
_ALL_OF_SENDER = sql(
    _ALL.format(
        whose="""COALESCE(
  (SELECT k.contact_id FROM conversations k WHERE k.org_id = :org AND k.name = :conversation),
  (SELECT ct.id FROM contacts ct WHERE ct.org_id = :org AND ct.name = :contact))"""
    )
)
_ALL_OF_MESSAGE = sql(
    _ALL.format(
        whose="""(SELECT k.contact_id FROM messages m JOIN conversations k ON k.id = m.conversation_id
  WHERE m.org_id = :org AND m.name = :message)"""
    )
)
_ALL_OF = sql(_ALL.format(whose="(SELECT k.contact_id FROM conversations k WHERE k.id = :conversation)"))
_ALL_OF_NAME = sql(
    _ALL.format(whose="(SELECT k.contact_id FROM conversations k WHERE k.org_id = :org AND k.name = :conversation)")
)
_ALL_OF_CONTACT = sql(
    _ALL.format(whose="(SELECT ct.id FROM contacts ct WHERE ct.org_id = :org AND ct.name = :contact)")
)
_ALL_OF_CONTACT_ID = sql(_ALL.format(whose=":contact"))

RECORD = (
    """INSERT INTO consent_records (org_id, contact_id, conversation_id, act, who, rule, reason, message, job_id)"""
)

_SHUT = sql(f"""
WITH flagged AS (
  UPDATE contacts
  SET opted_out_at = CASE WHEN CAST(:stop AS text) IS NULL THEN opted_out_at ELSE clock_timestamp() END,
      locked_at = CASE WHEN CAST(:danger AS text) IS NULL THEN locked_at ELSE clock_timestamp() END
  WHERE id = :contact
  RETURNING locale
), unplanned AS (
  UPDATE conversations SET follow_up_at = NULL WHERE contact_id = :contact AND follow_up_at IS NOT NULL
), links AS (
  UPDATE payments SET state = 'expired', ended_at = clock_timestamp()
  WHERE contact_id = :contact AND state = 'open' AND CAST(:danger AS text) IS NOT NULL
  RETURNING org_id, conversation_id, provider, reference
), {closed_links.WANTED}, kept AS (
  {RECORD}
  SELECT :org, :contact, :conversation, a.act, 'contact', a.rule, NULL, COALESCE(CAST(:message AS text), (
           SELECT m.name FROM messages m WHERE m.conversation_id = :conversation AND m.position = :position)), :job
  FROM (VALUES ('locked', CAST(:danger AS text)), ('opted_out', CAST(:stop AS text))) AS a (act, rule)
  WHERE a.rule IS NOT NULL
)
SELECT locale FROM flagged
""")

# What was paid for is owed also to who wants silence, but not to who may be a minor.
_LIVE = sql(f"""
SELECT c.id AS conversation, {JOB} FROM conversations c JOIN jobs j ON j.conversation_id = c.id
WHERE c.contact_id = :contact AND j.state IN {LIVE}
  AND (j.kind <> 'delivery' OR (j.trigger = 'payment' AND CAST(:danger AS text) IS NOT NULL))
ORDER BY c.id, j.id
""")

_TELL = sql(f"""
WITH made AS (
  INSERT INTO jobs (org_id, conversation_id, queue, kind, state, inbound_seq, first_message_at, due_at, dispatched_at)
  VALUES (:org, :conversation, 'send', 'delivery', 'sending', :seq, clock_timestamp(), clock_timestamp(),
          {DISPATCHED_SEND})
  RETURNING id, dispatched_at
), bubbles AS (
  INSERT INTO candidates (org_id, job_id, conversation_id, ordinal, kind, state, text)
  SELECT :org, made.id, :conversation, b.ordinal - 1, :kind, 'held', b.text
  FROM made, unnest(CAST(:texts AS text[])) WITH ORDINALITY AS b (text, ordinal)
), told AS ({EVENT.format(of="made", frm="NULL", to="'sending'")})
SELECT id, dispatched_at IS NOT NULL AS dispatched FROM made
""")


async def lock_all_of_sender(tx: Transaction, org: OrgId, message: MessageIn) -> None:
    contact = None if message.contact is None else message.contact.id
    await tx.all(_ALL_OF_SENDER, org=org, conversation=message.conversation, contact=contact)


async def lock_all_of_message(tx: Transaction, org: OrgId, message: str) -> None:
    await tx.all(_ALL_OF_MESSAGE, org=org, message=message)


async def lock_all_of(tx: Transaction, conversation: int) -> None:
    await tx.all(_ALL_OF, conversation=conversation)


async def lock_all_of_name(tx: Transaction, org: OrgId, conversation: str) -> None:
    await tx.all(_ALL_OF_NAME, org=org, conversation=conversation)


async def lock_all_of_contact(tx: Transaction, org: OrgId, contact: str) -> Sequence[Row]:
    """Answers their `id`s, in order."""
    return await tx.all(_ALL_OF_CONTACT, org=org, contact=contact)


async def lock_all_of_contact_id(tx: Transaction, contact: int) -> None:
    await tx.all(_ALL_OF_CONTACT_ID, contact=contact)


def still_to_do(alarm: Alarm | None, flags: Row) -> Alarm | None:
    """What of it is new: who has opted out is not confirmed it twice, who is locked is not locked again."""
    if alarm is None or flags.erased:
        return None
    left = replace(
        alarm,
        stop=None if flags.opted_out else alarm.stop,
        danger=None if flags.locked else alarm.danger,
    )
    return left if left.stop or left.danger else None


async def by_message(tx: Transaction, conversation: Locked, job: Job | None, alarm: Alarm) -> tuple[JobId, NoJob]:
    """The message itself says it; `conversation` counts it already. Its job ends here: `failed` with AR-532, or
    `silent`. Needs the locks of all conversations."""
    reason = NoJob.SAFETY_LOCK if alarm.danger else NoJob.OPTED_OUT
    if job is not None and (job.pinned or job.state is not JobState.QUEUED):
        await send_away(tx, conversation, job, JobState.CANCELLED, reason, "contact")
        job = None
    number = await inbound.answer(tx, conversation, job)
    if number is None:
        raise AssertionError("a conversation without a live job got none")
    found = await read_or_refuse(tx, conversation, number)
    if alarm.danger:
        await failures.fail(tx, conversation, found, Code.SAFETY_STOP, alarm.reason)
    else:
        covers = conversation.inbound_seq
        await send_away(tx, conversation, found, JobState.SILENT, reason, "contact", answers=covers)
    await shut(tx, conversation, alarm, number)
    return number, reason


async def shut(tx: Transaction, conversation: Locked, alarm: Alarm, job: JobId) -> None:
    """Flag, evidence, what is live anywhere, and what the contact is told."""
    reason = NoJob.SAFETY_LOCK if alarm.danger else NoJob.OPTED_OUT
    flagged = await tx.the(
        _SHUT,
        org=conversation.org,
        contact=conversation.contact_id,
        conversation=conversation.id,
        stop=alarm.stop,
        danger=alarm.danger,
        message=alarm.message,
        position=alarm.position,
        job=job,
    )
    for row in await tx.all(_LIVE, contact=conversation.contact_id, danger=alarm.danger):
        other, found = await lock(tx, row.conversation), Job.of(row)
        if other is None:
            raise AssertionError("a conversation went while it was locked")
        await send_away(tx, other, found, JobState.CANCELLED, reason, "system", answers=other.inbound_seq)
        if found.bought:
            await attention.flag(tx, other, found, Flag.PAID_LOCKED)
    await _tell(tx, conversation, alarm, flagged.locale)


async def _tell(tx: Transaction, conversation: Locked, alarm: Alarm, locale: str | None) -> None:
    """No gate but erasure holds these back: they are what the closed gate has to say."""
    spec = conversation.organization.spec
    language = locale or conversation.persona.spec.language or spec.locale
    texts = words_for(alarm, spec.country, language, crisis=spec.flags.crisis_notice is True)
    if not texts:
        return
    row = await tx.the(
        _TELL,
        org=conversation.org,
        conversation=conversation.id,
        seq=conversation.inbound_seq,
        kind=BubbleKind.NOTICE.value,
        texts=texts,
        fast=True,
        cap=spec.limits.in_flight,
        who="system",
        why="closing_notice",
        facts=None,
    )
    if row.dispatched:
        tx.hints.append(DelayedSend(conversation=conversation.id, job=row.id))
