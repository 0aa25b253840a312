"""What a run decided is kept, if it still holds: decided again under the lock, against what the contact wrote since."""

import json
from collections.abc import Sequence
from dataclasses import asdict

from pipelines.delivery import window
from pipelines.text import storable
from schemas.claims import Claim, Held, Lost, Recorded, Requeued
from schemas.conversation import BubbleKind
from schemas.decisions import Bubble, Decision, Failure, Parked, Reply, Silence, Stopped
from schemas.errors import Code
from schemas.jobs import DelayedSend
from schemas.strategy import NO_STRATEGY
from workers.adapters.postgres import (
    attention,
    closings,
    failures,
    inbound,
    ledger,
    notices,
    parking,
    prepared,
    silences,
    silences_held,
    steps,
)
from workers.adapters.postgres.dispatch_now import DISPATCHED_SEND
from workers.adapters.postgres.jobs import EVENT, JOB, MAX_RESTARTS, Job, facts
from workers.adapters.postgres.locks import Locked, lock
from workers.adapters.postgres.transaction import Row, Transaction, sql

_LOOK = sql(f"""
SELECT {JOB}, ct.locale, ct.noticed_at
FROM jobs j JOIN contacts ct ON ct.id = :contact
WHERE j.id = :job AND j.fence = :fence AND j.state = 'running'
FOR NO KEY UPDATE OF j
""")

_HOLD = sql(f"""
WITH held AS (
  UPDATE jobs
  SET state = 'held', queue = 'send', note = :note, crashes = 0, tries = 0, parked_until = NULL, lease_until = NULL,
      leased_by = NULL, fence = fence + 1, on_hold = :draft, code = NULL, reason = NULL,
      rules = CAST(:rules AS json), control_window = CAST(:own_window AS double precision),
      due_at = CASE WHEN :draft THEN NULL ELSE clock_timestamp() + make_interval(secs => :control_window) END,
      dispatched_at = {DISPATCHED_SEND}
  WHERE id = :job AND fence = :fence AND state = 'running'
  RETURNING id, due_at, dispatched_at
), drafted AS (
  INSERT INTO candidates (org_id, job_id, conversation_id, ordinal, kind, state, text, media, price)
  SELECT :org, :job, :conversation, b.ordinal - 1, b.kind, 'held', b.text, CAST(b.media AS json),
         CAST(b.price AS jsonb)
  FROM unnest(CAST(:kinds AS text[]), CAST(:texts AS text[]), CAST(:media AS text[]), CAST(:prices AS text[]))
       WITH ORDINALITY AS b (kind, text, media, price, ordinal)
  WHERE EXISTS (SELECT 1 FROM held)
), planned AS (
  UPDATE conversations
  SET plan = COALESCE(CAST(:plan AS text), plan), follow_up_at = CAST(:follow_up_at AS timestamptz)
  WHERE id = :conversation AND (CAST(:plan AS text) IS NOT NULL OR CAST(:follow_up_at AS timestamptz) IS NOT NULL)
), closed AS (
  UPDATE runs SET outcome = 'decided', {steps.TRACED} WHERE id = :run
), unheard AS ({ledger.UNHEARD.format(which="run_id = :run")}
), told AS ({EVENT.format(of="held", frm="'running'", to="'held'")})
SELECT due_at, dispatched_at IS NOT NULL AS dispatched FROM held
""")

_CRITICAL = frozenset({Code.CRITICAL_REVIEW, Code.IDENTITY_QUESTION, Code.SAFETY_STOP})
"""These end the job whatever came in meanwhile; a successor answers that."""


async def record(tx: Transaction, claim: Claim, decision: Decision) -> Recorded:
    """Rows 10 to 15. The call is paid for in any case. What stopped a run (`Stopped`) has moved its job already."""
    if isinstance(decision, Stopped):
        return Lost()
    alarm = getattr(decision, "alarm", None)
    if alarm is not None:
        await closings.lock_all_of(tx, claim.conversation)
    conversation = await lock(tx, claim.conversation)
    look = await _mine(tx, claim, conversation)
    if conversation is None or look is None:
        return await _lost(tx, claim, decision)
    job = Job.of(look)
    await ledger.close(tx, claim, getattr(decision, "call", None))
    if isinstance(decision, Parked):
        return await parking.park(tx, conversation, job, decision)
    if (again := await _overtaken(tx, conversation, job, decision)) is not None:
        return again
    recorded = await _decided(tx, conversation, job, look, claim, decision)
    if alarm is not None:
        await closings.shut(tx, conversation, alarm, job.id)
    return recorded


async def _decided(
    tx: Transaction, conversation: Locked, job: Job, look: Row, claim: Claim, decision: Reply | Silence | Failure
) -> Recorded:
    recorded: Recorded
    if isinstance(decision, Failure):
        recorded = await failures.fail(
            tx,
            conversation,
            job,
            decision.code,
            decision.reason,
            decision.detail,
            trace=decision.trace,
            strategy=decision.strategy,
        )
        if decision.prepared:
            await prepared.keep(tx, conversation, job, _with_notice(conversation, look, decision.prepared)[0])
        return recorded
    if isinstance(decision, Reply):
        recorded = await _hold(tx, conversation, job, look, claim, decision)
    elif decision.deliberate and window.wait(conversation.persona.spec, decision.strategy or NO_STRATEGY).draft:
        recorded = await silences_held.hold(tx, conversation, job, claim, decision)
    else:
        recorded = await silences.end(tx, conversation, job, claim, decision)
    if decision.flag is not None:
        await attention.flag(tx, conversation, job, decision.flag)
    return recorded


async def _mine(tx: Transaction, claim: Claim, conversation: Locked | None) -> Row | None:
    if conversation is None:
        return None
    return await tx.one(_LOOK, job=claim.job, fence=claim.fence, contact=conversation.contact_id)


async def _lost(tx: Transaction, claim: Claim, decision: Decision) -> Lost:
    call = getattr(decision, "call", None)
    if call is not None:
        await ledger.pay(tx, claim, call)
    return Lost()


async def _overtaken(
    tx: Transaction, conversation: Locked, job: Job, decision: Reply | Silence | Failure
) -> Requeued | None:
    if conversation.inbound_seq == job.seq or job.pinned:
        return None
    if isinstance(decision, Failure) and decision.code in _CRITICAL:
        return None
    if job.restarts >= MAX_RESTARTS:
        await inbound.pin(tx, conversation, job, "restarted_too_often")
        return None
    return Requeued(await steps.requeue(tx, conversation, job, decision.trace))


async def _hold(tx: Transaction, conversation: Locked, job: Job, look: Row, claim: Claim, reply: Reply) -> Held:
    spec = conversation.persona.spec
    waits = window.wait(spec, reply.strategy)
    bubbles, told = _with_notice(conversation, look, reply.bubbles)
    row = await tx.the(
        _HOLD,
        org=conversation.org,
        conversation=conversation.id,
        job=job.id,
        fence=job.fence,
        run=claim.resume.run,
        note=reply.note,
        plan=reply.plan,
        follow_up_at=reply.follow_up_at if conversation.inbound_seq == job.seq else None,
        draft=waits.draft,
        control_window=waits.seconds,
        own_window=waits.seconds if waits.by_rule else None,
        rules=steps.outcomes(reply.strategy),
        kinds=[bubble.kind.value for bubble in bubbles],
        texts=[bubble.text for bubble in bubbles],
        media=[_media(bubble) for bubble in bubbles],
        prices=[_price(bubble) for bubble in bubbles],
        trace=steps.traced(reply.trace),
        fast=waits.seconds == 0 and not waits.draft,
        cap=conversation.organization.spec.limits.in_flight,
        who="worker",
        why="decided",
        facts=told,
    )
    if row.dispatched:
        tx.hints.append(DelayedSend(conversation=conversation.id, job=job.id))
    return Held(row.due_at)


def _with_notice(conversation: Locked, look: Row, bubbles: Sequence[Bubble]) -> tuple[list[Bubble], str | None]:
    """The bubbles as they are stored, the notice first when it is due; and what the event says of it."""
    stored = [Bubble(bubble.kind, storable(bubble.text), bubble.media, bubble.price) for bubble in bubbles]
    if not notices.is_due(conversation, look):
        return stored, None
    words = notices.worded(conversation, look.locale)
    told = facts(notice=words.version, language=words.language)
    return [Bubble(BubbleKind.NOTICE, words.text), *stored], told


def _media(bubble: Bubble) -> str | None:
    """As the receiver will be told of them; looked up again when the bubble leaves."""
    return json.dumps([asdict(media) for media in bubble.media]) if bubble.media else None


def _price(bubble: Bubble) -> str | None:
    price = bubble.price
    return None if price is None else facts(amount=str(price.amount), currency=price.currency)
