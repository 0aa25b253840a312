"""A send worker takes a job whose window has closed: everything is checked again, then one bubble leaves.

A text bubble leaves here, in one transaction with the claim: its body frozen, its delivery leased to this worker, its
line in the conversation. From then on it is delivered or given up. A voice bubble is taken to be spoken first
(`preparing.py`), and leaves when its audio is there (`spoken.py`); a payment bubble waits for its link
(`offering.py`).
"""

from dataclasses import asdict, dataclass
from datetime import datetime

from pipelines.delivery.bodies import MESSAGE_SEND, Outgoing, Sale, audio, message_send
from pipelines.delivery.media import Checked, first_fault, told
from schemas.claims import CandidateState, JobState, NoJob, Posting, Preparing
from schemas.conversation import BubbleKind, Flag, HandledBy
from schemas.errors import Code
from schemas.ids import CandidateId, DeliveryId
from schemas.jobs import DelayedSend
from schemas.payments import Offering
from schemas.speech import Recording
from workers.adapters.postgres import (
    attention,
    checked,
    endings,
    failures,
    notices,
    offering,
    preparing,
    quiet_hours,
)
from workers.adapters.postgres.jobs import AT_REST, EVENT, JOB, NO_COMPLAINT, Job, facts, make, send_away, successor
from workers.adapters.postgres.locks import CONTACT_FLAGS, Locked, lock
from workers.adapters.postgres.transaction import Row, Transaction, sql
from workers.adapters.postgres.webhooks import endpoint_of

_LOOK = sql(f"""
SELECT {JOB}, {CONTACT_FLAGS}, NOT j.on_hold AND j.lease_until IS NULL AND j.due_at <= clock_timestamp() AS due,
       d.id IS NOT NULL AS bubble_out, k.id AS candidate, k.kind, k.ordinal, k.text, k.version,
       k.state AS bubble_state, k.media AS sold, k.price, ct.locale,
       k.kind = 'notice' AND j.kind <> 'delivery' AND ct.noticed_at > k.created_at AS noticed, ct.noticed_at,
       {checked.MEDIA}
FROM jobs j
JOIN contacts ct ON ct.id = :contact
LEFT JOIN deliveries d ON d.conversation_id = :conversation AND d.candidate_id IS NOT NULL
                      AND d.state IN ('posting', 'waiting')
LEFT JOIN LATERAL (
  SELECT * FROM candidates WHERE job_id = j.id AND state IN ('held', 'preparing') ORDER BY ordinal LIMIT 1
) k ON true
WHERE j.id = :job AND j.conversation_id = :conversation AND j.state IN ('held', 'sending')
""")

# A job on hold whose worker died was made due by the clock; without this it would be offered for ever.
_NOT_YET = sql("""
UPDATE jobs SET dispatched_at = NULL, due_at = CASE WHEN on_hold THEN NULL ELSE due_at END
WHERE id = :job AND lease_until IS NULL
""")

# Woken when the bubble ahead is due again, or within a moment when it is being posted.
_STEP_ASIDE = sql("""
UPDATE jobs j
SET dispatched_at = NULL,
    due_at = GREATEST(clock_timestamp(), (
      SELECT d.due_at FROM deliveries d WHERE d.conversation_id = :conversation AND d.candidate_id IS NOT NULL
        AND d.state IN ('posting', 'waiting'))) + interval '20 ms'
WHERE j.id = :job AND j.lease_until IS NULL
""")

_DROP = sql("UPDATE candidates SET state = 'dropped', reason = 'noticed' WHERE id = :candidate AND state = 'held'")

_LEAVE = sql(f"""
WITH job AS (
  UPDATE jobs SET state = 'sending', due_at = NULL, crashes = 0, tries = 0, {NO_COMPLAINT}, {AT_REST}
  WHERE id = :job AND state = :from AND fence = :fence
  RETURNING id
), bubble AS (
  UPDATE candidates SET state = 'leaving', left_seq = :seq, left_at = clock_timestamp(),
                        audio = CAST(:audio AS jsonb), media = coalesce(CAST(:media AS json), media)
  WHERE id = :candidate AND version = :version AND state = :was AND EXISTS (SELECT 1 FROM job)
  RETURNING id
), posting AS (
  INSERT INTO deliveries (webhook_id, type, org_id, conversation_id, job_id, candidate_id, queue, body, state, fence,
                          attempts, lease_until, leased_by, first_attempt_at)
  SELECT 'wh_' || (SELECT tag FROM installation ORDER BY id LIMIT 1) || '_b' || id, :type, :org, :conversation, :job,
         id, 'send', :body, 'posting', 1, 1, clock_timestamp() + make_interval(secs => :lease), :instance,
         clock_timestamp()
  FROM bubble
  RETURNING id, webhook_id
), said AS (
  INSERT INTO messages (org_id, conversation_id, author, position, kind, text, attachments, candidate_id, job_id)
  SELECT :org, :conversation, 'ai', :position, :kind, :text, CAST(:attachments AS json), id, :job FROM bubble
), had AS (
  INSERT INTO media_facts (org_id, contact_id, persona_id, media_id, what, candidate_id, job_id)
  SELECT :org, :contact, :persona, free.id, 'received', bubble.id, :job
  FROM bubble CROSS JOIN unnest(CAST(:free AS bigint[])) AS free (id)
), counted AS (
  UPDATE conversations SET last_position = :position WHERE id = :conversation AND EXISTS (SELECT 1 FROM bubble)
), told AS ({EVENT.format(of="job", frm=":from", to="'sending'")})
SELECT id, webhook_id FROM posting
""")


@dataclass(frozen=True, slots=True)
class Next:
    """The bubble whose turn it is, as read under the lock."""

    candidate: CandidateId
    ordinal: int
    kind: BubbleKind
    text: str
    version: int
    state: CandidateState
    recording: Recording | None = None
    media: tuple[Checked, ...] = ()
    sale: Sale | None = None

    @classmethod
    def of(cls, look: Row, recording: Recording | None = None, sale: Sale | None = None) -> "Next":
        state = CandidateState(look.bubble_state)
        kind = BubbleKind(look.kind)
        candidate, media = CandidateId(look.candidate), checked.of(look)
        return cls(candidate, look.ordinal, kind, look.text, look.version, state, recording, media, sale)


async def claim(tx: Transaction, hint: DelayedSend) -> Posting | Preparing | Offering | None:
    """Rows 26 to 28. None: not due, not allowed any more, or nothing left to send."""
    conversation = await lock(tx, hint.conversation)
    look = await look_at(tx, conversation, hint.job) if conversation is not None else None
    if conversation is None or look is None:
        return None
    if not look.due:
        await tx.run(_NOT_YET, job=hint.job)
        return None
    job = Job.of(look)
    if await stopped(tx, conversation, look, job) or await quiet_hours.hold_back(tx, conversation, job):
        return None
    if look.bubble_out:
        await tx.run(_STEP_ASIDE, job=job.id, conversation=conversation.id)
        return None
    look = await _noticed(tx, conversation, job, look)
    if look is None or look.candidate is None:
        await endings.sent(tx, conversation, job, "nothing_left")
        return None
    return await _take(tx, conversation, job, look)


async def _noticed(tx: Transaction, conversation: Locked, job: Job, look: Row | None) -> Row | None:
    """The notice as it is due now: a draft may have waited for days. One that was delivered meanwhile goes, one that
    is missing leaves first."""
    while look is not None and look.noticed and not notices.is_due(conversation, look):
        await tx.run(_DROP, candidate=look.candidate)
        look = await look_at(tx, conversation, job.id)
    if look is None or look.candidate is None or look.kind == BubbleKind.NOTICE or not job.replies:
        return look
    if not notices.is_due(conversation, look):
        return look
    await notices.lead(tx, conversation, job, look)
    return await look_at(tx, conversation, job.id)


async def _take(tx: Transaction, conversation: Locked, job: Job, look: Row) -> Posting | Preparing | Offering | None:
    if look.kind == BubbleKind.VOICE:
        return await preparing.take(tx, conversation, job, look)
    if look.kind != BubbleKind.PAYMENT:
        return await _leave_if_sendable(tx, conversation, job, Next.of(look))
    taken = await offering.take(tx, conversation, job, look)
    if isinstance(taken, Sale):
        return await leave(tx, conversation, job, Next.of(look, sale=taken), job.due_at)
    return taken


async def _leave_if_sendable(tx: Transaction, conversation: Locked, job: Job, bubble: Next) -> Posting | None:
    if (fault := first_fault(bubble.media, paid=not job.replies)) is not None:
        await preparing.ask(tx, conversation, job, bubble.candidate, Code.MEDIA, fault)
        return None
    return await leave(tx, conversation, job, bubble, job.due_at)


async def look_at(tx: Transaction, conversation: Locked, job: int) -> Row | None:
    return await tx.one(_LOOK, job=job, conversation=conversation.id, contact=conversation.contact_id)


async def stopped(tx: Transaction, conversation: Locked, look: Row, job: Job) -> bool:
    """The gate, asked again when the window has closed. True: the job has ended."""
    if (why := _closed(conversation, look, job)) is not None:
        answers = job.seq if job.pinned else conversation.inbound_seq
        await send_away(tx, conversation, job, JobState.CANCELLED, why, "worker", answers=answers)
        if job.bought and why == NoJob.SAFETY_LOCK:
            await attention.flag(tx, conversation, job, Flag.PAID_LOCKED)
        await successor(tx, conversation, answers)
        return True
    if conversation.inbound_seq != job.seq and job.replies and not job.pinned:
        await send_away(tx, conversation, job, JobState.SUPERSEDED, "newer_message", "worker")
        await make(tx, conversation, why="newer_message", supersedes=job.supersedes + 1, waiting=True)
        return True
    if conversation.webhook_disabled:
        sentence = "the webhook was disabled by its receiver (410)"
        await failures.fail(tx, conversation, job, Code.DELIVERY, "webhook_disabled", sentence)
        return True
    return False


def _closed(conversation: Locked, look: Row, job: Job) -> str | None:
    if look.erased:
        return NoJob.ERASED
    if look.locked and (job.replies or job.bought):
        return NoJob.SAFETY_LOCK
    if not job.replies:
        return None
    if look.opted_out:
        return "opted_out"
    if conversation.handled_by is not HandledBy.AI:
        return "human_handles"
    return "paused" if conversation.paused else None


async def leave(tx: Transaction, conversation: Locked, job: Job, bubble: Next, due_at: datetime | None) -> Posting:
    """The bubble is out: whatever happens now, it is delivered or given up. How late it is counts from `due_at`."""
    body = _body(conversation, job, bubble)
    row = await tx.the(
        _LEAVE,
        org=conversation.org,
        conversation=conversation.id,
        job=job.id,
        fence=job.fence,
        candidate=bubble.candidate,
        version=bubble.version,
        was=bubble.state.value,
        audio=None if bubble.recording is None else facts(**asdict(bubble.recording)),
        **checked.values(bubble.media, free=job.replies),
        contact=conversation.contact_id,
        persona=conversation.persona.id,
        kind=bubble.kind.value,
        text=bubble.text,
        seq=conversation.inbound_seq,
        position=conversation.last_position + 1,
        type=MESSAGE_SEND,
        body=body,
        lease=tx.lease,
        instance=tx.instance,
        who="worker",
        why="window_closed" if job.state is JobState.HELD else "next_bubble",
        facts=facts(candidate=bubble.candidate, due_at=due_at and due_at.isoformat()),
        **{"from": job.state.value},
    )
    if bubble.sale is not None:
        await offering.proposed(tx, job.id, bubble.candidate, bubble.sale.payment)
    return _posting(conversation, bubble, body, row)


def _posting(conversation: Locked, bubble: Next, body: str, row: Row) -> Posting:
    return Posting(
        delivery=DeliveryId(row.id),
        webhook_id=row.webhook_id,
        org=conversation.org,
        conversation=conversation.id,
        candidate=bubble.candidate,
        type=MESSAGE_SEND,
        body=body,
        fence=1,
        attempt=1,
        endpoint=endpoint_of(conversation),
    )


def _body(conversation: Locked, job: Job, bubble: Next) -> str:
    outgoing = Outgoing(
        bubble.candidate,
        job.id,
        conversation.name,
        conversation.contact,
        conversation.persona.name,
        bubble.ordinal,
        bubble.kind,
        bubble.text,
        None if bubble.recording is None else audio(bubble.recording),
        told(bubble.media),
        bubble.sale,
    )
    return message_send(outgoing, conversation.now)
