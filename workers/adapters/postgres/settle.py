"""What became of one POST: the bubble is sent, waits for another attempt, is taken back, or is given up."""

from dataclasses import dataclass
from datetime import datetime

from pipelines.delivery.pacing import next_attempt_seconds, typing_seconds
from pipelines.text import storable
from schemas.claims import Accepted, JobState, Posted, Posting, Refused, Unknown
from schemas.conversation import BubbleKind
from schemas.errors import Code
from schemas.ids import CandidateId, DeliveryId
from schemas.jobs import DelayedSend
from workers.adapters.postgres import endings, failures, payments
from workers.adapters.postgres.dispatch_now import DISPATCHED_SEND
from workers.adapters.postgres.jobs import AT_REST, EVENT, JOB, Job, facts, successor
from workers.adapters.postgres.locks import Locked, lock
from workers.adapters.postgres.transaction import Row, Transaction, sql

_LOOK = sql(f"""
SELECT d.id AS delivery, d.fence AS delivery_fence, d.attempts, d.ambiguous, d.first_attempt_at, d.candidate_id,
       k.kind, EXTRACT(EPOCH FROM clock_timestamp() - d.first_attempt_at) AS age, {JOB},
       (SELECT n.text FROM candidates n WHERE n.job_id = d.job_id AND n.state IN ('held', 'preparing')
        ORDER BY n.ordinal LIMIT 1) AS next_text
FROM deliveries d JOIN candidates k ON k.id = d.candidate_id JOIN jobs j ON j.id = d.job_id
WHERE d.id = :delivery AND d.fence = :fence AND d.state = 'posting'
""")

_ACCEPTED = f"""
WITH accepted AS (
  UPDATE deliveries SET state = 'accepted', due_at = NULL, crashes = 0, {AT_REST}, ended_at = clock_timestamp()
  WHERE id = :delivery AND fence = :delivery_fence AND state = 'posting'
), sent AS (
  UPDATE candidates SET state = 'sent', sent_at = clock_timestamp(), platform_id = :platform_id WHERE id = :candidate
), noticed AS (
  UPDATE contacts SET noticed_at = clock_timestamp() WHERE id = :contact AND :notice
)"""

# The job is not live any more: only the bubble is settled.
_ACCEPTED_LATE = sql(f"{_ACCEPTED} SELECT 1")

_ACCEPTED_MORE = sql(f"""
{_ACCEPTED}, paced AS (
  UPDATE jobs
  SET due_at = CASE WHEN on_hold THEN NULL ELSE clock_timestamp() + make_interval(secs => :pause) END,
      dispatched_at = {DISPATCHED_SEND}
  WHERE id = :job AND fence = :fence AND state = 'sending'
  RETURNING id, dispatched_at
), told AS ({EVENT.format(of="paced", frm="'sending'", to="'sending'")})
SELECT count(*) FILTER (WHERE dispatched_at IS NOT NULL) AS dispatched FROM paced
""")

_ACCEPTED_LAST = sql(f"""
{_ACCEPTED}, ended AS ({endings.END}), told AS ({EVENT.format(of="ended", frm=":from", to="'sent'")})
SELECT id FROM ended
""")

_AGAIN = sql(f"""
UPDATE deliveries
SET state = 'waiting', ambiguous = :ambiguous, error = :error, crashes = 0, {AT_REST},
    due_at = clock_timestamp() + make_interval(secs => :pause)
WHERE id = :delivery AND fence = :fence AND state = 'posting'
""")

# The line of a bubble that may have been shown stays in the conversation.
_OVER = sql(f"""
WITH over AS (
  UPDATE deliveries SET state = :to, ambiguous = :ambiguous, error = :error, due_at = NULL, crashes = 0, {AT_REST},
                        ended_at = clock_timestamp()
  WHERE id = :delivery AND fence = :fence AND state = 'posting'
  RETURNING candidate_id
), bubble AS (
  UPDATE candidates SET state = :to, reason = :reason WHERE id IN (SELECT candidate_id FROM over)
), unsaid AS (
  DELETE FROM messages WHERE candidate_id IN (SELECT candidate_id FROM over) AND NOT :ambiguous
), unseen AS (
  DELETE FROM media_facts WHERE candidate_id IN (SELECT candidate_id FROM over) AND NOT :ambiguous
)
UPDATE organizations SET webhook_disabled_at = clock_timestamp()
WHERE id = :org AND :gone AND webhook_disabled_at IS NULL
""")

_LETTER = sql("""
INSERT INTO dead_letters (org_id, source, job_id, delivery_id, code, error, attempts, payload, first_seen)
VALUES (:org, 'delivery', :job, :delivery, :code, :error, :attempts, CAST(:payload AS jsonb), :first_seen)
""")

_LOOK_EVENT = sql("""
SELECT d.id AS delivery, d.fence AS delivery_fence, d.attempts, d.ambiguous, d.first_attempt_at, d.candidate_id,
       EXTRACT(EPOCH FROM clock_timestamp() - d.first_attempt_at) AS age, d.job_id
FROM deliveries d WHERE d.id = :delivery AND d.fence = :fence AND d.state = 'posting'
""")


@dataclass(frozen=True, slots=True)
class Attempt:
    """One POST that came to nothing, as its delivery stands with it."""

    delivery: DeliveryId
    fence: int
    number: int
    ambiguous: bool
    """Some attempt, this one or an earlier, may have been applied."""
    age: float
    first: datetime
    sentence: str
    final: bool
    gone: bool
    retry_after: float | None

    @property
    def given_up(self) -> str:
        """Why no further one is made."""
        if self.gone:
            return "webhook_disabled"
        return "refused" if self.final else "tried_too_long"

    @classmethod
    def of(cls, row: Row, posted: Posted) -> "Attempt":
        refused = posted if isinstance(posted, Refused) else None
        return cls(
            delivery=DeliveryId(row.delivery),
            fence=row.delivery_fence,
            number=row.attempts,
            ambiguous=row.ambiguous or isinstance(posted, Unknown),
            age=float(row.age),
            first=row.first_attempt_at,
            sentence=storable("" if isinstance(posted, Accepted) else posted.sentence),
            final=refused is not None and (refused.final or refused.gone),
            gone=refused is not None and refused.gone,
            retry_after=refused.retry_after if refused else None,
        )


async def settle(tx: Transaction, posting: Posting, posted: Posted) -> None:
    """Rows 30 to 32. A posting whose delivery is somebody else's by now changes nothing."""
    if posting.candidate is None or posting.conversation is None:
        await _settle_event(tx, posting, posted)
        return
    conversation = await lock(tx, posting.conversation)
    row = await tx.one(_LOOK, delivery=posting.delivery, fence=posting.fence)
    if conversation is None or row is None:
        return
    if isinstance(posted, Accepted):
        await _accepted(tx, conversation, row, posted)
    else:
        await _not_accepted(tx, conversation, Job.of(row), posting.candidate, Attempt.of(row, posted))


async def _accepted(tx: Transaction, conversation: Locked, row: Row, accepted: Accepted) -> None:
    job = Job.of(row)
    bubble = {
        "delivery": row.delivery,
        "delivery_fence": row.delivery_fence,
        "candidate": row.candidate_id,
        "platform_id": None if accepted.platform_id is None else storable(accepted.platform_id),
        "contact": conversation.contact_id,
        "notice": row.kind == BubbleKind.NOTICE and job.replies,
    }
    if job.state is not JobState.SENDING:
        await tx.run(_ACCEPTED_LATE, **bubble)
        return
    move = {
        **bubble,
        "org": conversation.org,
        "conversation": conversation.id,
        "job": job.id,
        "fence": job.fence,
        "who": "worker",
    }
    if row.next_text is None:
        await tx.the(_ACCEPTED_LAST, **move, why="all_sent", facts=None, **{"from": job.state.value})
        if job.replies:
            await successor(tx, conversation, job.seq)
        else:
            await payments.delivered(tx, conversation, job.id)
        return
    pause = typing_seconds(conversation.persona.spec.pacing, row.next_text, tx.chance())
    moved = await tx.the(
        _ACCEPTED_MORE,
        **move,
        pause=pause,
        fast=pause == 0 and not job.on_hold,
        cap=conversation.organization.spec.limits.in_flight,
        why="accepted",
        facts=facts(candidate=row.candidate_id),
    )
    if moved.dispatched:
        tx.hints.append(DelayedSend(conversation=conversation.id, job=job.id))


async def _not_accepted(
    tx: Transaction, conversation: Locked, job: Job, candidate: CandidateId, attempt: Attempt
) -> None:
    wanted = job.state.live
    limits = tx.settings.delivery
    patience = limits.give_up_seconds if wanted or not attempt.ambiguous else limits.ambiguous_seconds
    if not wanted and not attempt.ambiguous:
        await _over(tx, conversation, attempt, "recalled", "refused, and no longer wanted")
    elif attempt.final or attempt.age >= patience:
        await _over(tx, conversation, attempt, "failed", attempt.sentence)
        if wanted:
            await failures.fail(
                tx,
                conversation,
                job,
                Code.DELIVERY,
                attempt.given_up,
                attempt.sentence,
                delivery=attempt.delivery,
                attempts=attempt.number,
                first_seen=attempt.first,
            )
    else:
        await _again(tx, attempt)


async def _over(tx: Transaction, conversation: Locked, attempt: Attempt, to: str, reason: str) -> None:
    await tx.run(
        _OVER,
        org=conversation.org,
        delivery=attempt.delivery,
        fence=attempt.fence,
        to=to,
        ambiguous=attempt.ambiguous,
        error=attempt.sentence,
        reason=reason,
        gone=attempt.gone,
    )


async def _again(tx: Transaction, attempt: Attempt) -> None:
    await tx.run(
        _AGAIN,
        delivery=attempt.delivery,
        fence=attempt.fence,
        ambiguous=attempt.ambiguous,
        error=attempt.sentence,
        pause=next_attempt_seconds(attempt.number, attempt.retry_after, tx.chance()),
    )


async def _settle_event(tx: Transaction, posting: Posting, posted: Posted) -> None:
    """A webhook that is no bubble: given up, it is a dead letter, but tells nobody (a dead receiver would raise
    attention about itself for ever)."""
    row = await tx.one(_LOOK_EVENT, delivery=posting.delivery, fence=posting.fence)
    if row is None:
        return
    attempt = Attempt.of(row, posted)
    if not isinstance(posted, Accepted) and not attempt.final and attempt.age < tx.settings.delivery.give_up_seconds:
        await _again(tx, attempt)
        return
    await tx.run(
        _OVER,
        org=posting.org,
        delivery=attempt.delivery,
        fence=attempt.fence,
        to="accepted" if isinstance(posted, Accepted) else "failed",
        ambiguous=attempt.ambiguous,
        error=attempt.sentence,
        reason="",
        gone=attempt.gone,
    )
    if not isinstance(posted, Accepted):
        await tx.run(
            _LETTER,
            org=posting.org,
            job=row.job_id,
            delivery=attempt.delivery,
            code=Code.DELIVERY.value,
            error=attempt.sentence,
            attempts=attempt.number,
            payload=facts(type=posting.type),
            first_seen=attempt.first,
        )
