"""What a run decided is kept, if it still holds: decided again under the lock, against what the contact wrote since."""

from pipelines.delivery import notice
from pipelines.text import storable
from schemas.claims import Claim, Held, Lost, Recorded, Requeued
from schemas.conversation import BubbleKind
from schemas.decisions import Decision, Failure, Parked, Reply, Silence, Stopped
from schemas.errors import Code
from schemas.jobs import DelayedSend
from workers.adapters.postgres import failures, inbound, ledger, parking, silences, silences_held, steps
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
      due_at = CASE WHEN :draft THEN NULL ELSE clock_timestamp() + make_interval(secs => :control_window) END,
      dispatched_at = {DISPATCHED_SEND}
  WHERE id = :job AND fence = :fence AND state = 'running'
  RETURNING id, due_at, dispatched_at
), drafted AS (
  INSERT INTO candidates (org_id, job_id, conversation_id, ordinal, kind, state, text)
  SELECT :org, :job, :conversation, b.ordinal - 1, b.kind, 'held', b.text
  FROM unnest(CAST(:kinds AS text[]), CAST(:texts AS text[])) WITH ORDINALITY AS b (kind, text, ordinal)
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
    if isinstance(decision, Reply):
        return await _hold(tx, conversation, job, look, claim, decision)
    if isinstance(decision, Silence):
        if decision.deliberate and conversation.persona.spec.autonomy == "draft":
            return await silences_held.hold(tx, conversation, job, claim, decision)
        return await silences.end(tx, conversation, job, claim, decision)
    return await failures.fail(tx, conversation, job, decision.code, decision.reason, trace=decision.trace)


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
    window = 0.0 if spec.autonomy == "auto" else spec.control_window_seconds
    draft = spec.autonomy == "draft"
    bubbles = [(bubble.kind, storable(bubble.text)) for bubble in reply.bubbles]
    told = None
    if notice.is_due(spec.disclosure, look.noticed_at, conversation.now):
        words = _notice(conversation, look.locale)
        bubbles.insert(0, (BubbleKind.NOTICE, words.text))
        told = facts(notice=words.version, language=words.language)
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
        draft=draft,
        control_window=window,
        kinds=[kind.value for kind, _ in bubbles],
        texts=[words for _, words in bubbles],
        trace=steps.traced(reply.trace),
        fast=window == 0 and not draft,
        cap=conversation.organization.spec.limits.in_flight,
        who="worker",
        why="decided",
        facts=told,
    )
    if row.dispatched:
        tx.hints.append(DelayedSend(conversation=conversation.id, job=job.id))
    return Held(row.due_at)


def _notice(conversation: Locked, contact_locale: str | None) -> notice.Notice:
    spec = conversation.persona.spec
    languages = [contact_locale, spec.language, conversation.organization.spec.locale]
    return notice.worded(spec.disclosure, spec.display_name or conversation.persona.name, languages)
