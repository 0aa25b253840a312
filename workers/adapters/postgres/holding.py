"""An operator stops the countdown of a reply, or lets it run again."""

from pipelines.delivery import window
from schemas.claims import JobState
from schemas.ids import JobId, OrgId
from schemas.jobs import DelayedSend
from schemas.strategy import NO_STRATEGY
from workers.adapters.postgres import silences_held
from workers.adapters.postgres.audit import note_job
from workers.adapters.postgres.dispatch_now import DISPATCHED_SEND
from workers.adapters.postgres.jobs import AT_REST, EVENT, NO_COMPLAINT, read_or_refuse
from workers.adapters.postgres.late import too_late
from workers.adapters.postgres.locks import lock_of_job
from workers.adapters.postgres.transaction import Transaction, sql

_STANDING = sql("""
SELECT EXISTS (SELECT 1 FROM candidates WHERE job_id = :job AND state IN ('held', 'preparing')) AS unsent,
       EXISTS (SELECT 1 FROM deliveries d WHERE d.conversation_id = :conversation AND d.job_id = :job
                 AND d.candidate_id IS NOT NULL AND d.state IN ('posting', 'waiting')) AS bubble_out
""")

# What a worker is preparing comes back: its fence is an old one from here on, and it has not died.
_HOLD = sql(f"""
WITH stopped AS (
  UPDATE jobs
  SET on_hold = true, due_at = NULL, crashes = 0, {AT_REST},
      rest = CASE WHEN state = 'held' THEN GREATEST(due_at - clock_timestamp(), interval '0') END
  WHERE id = :job AND state = :state AND fence = :fence AND NOT on_hold
  RETURNING id
), kept AS (
  UPDATE candidates SET state = 'held' WHERE job_id = :job AND state = 'preparing' AND EXISTS (SELECT 1 FROM stopped)
), told AS ({EVENT.format(of="stopped", frm=":state", to=":state")})
SELECT id FROM stopped
""")

# A draft never had a countdown: let go, it gets a whole one.
_RELEASE = sql(f"""
WITH released AS (
  UPDATE jobs
  SET on_hold = false, rest = NULL, {NO_COMPLAINT}, dispatched_at = {DISPATCHED_SEND},
      due_at = CASE WHEN :bubble_out THEN NULL
                    WHEN state = 'sending' THEN clock_timestamp()
                    ELSE clock_timestamp()
                         + COALESCE(rest, make_interval(secs => COALESCE(control_window, :control_window))) END
  WHERE id = :job AND state = :state AND fence = :fence AND on_hold AND ending IS NULL
  RETURNING id, dispatched_at
), told AS ({EVENT.format(of="released", frm=":state", to=":state")})
SELECT dispatched_at IS NOT NULL AS dispatched FROM released
""")


async def hold(tx: Transaction, org: OrgId | None, job_id: JobId, who: str) -> None:
    """Row 18. When every bubble has left there is nothing to hold any more."""
    conversation = await lock_of_job(tx, org, job_id)
    job = await read_or_refuse(tx, conversation, job_id)
    if job.state not in (JobState.HELD, JobState.SENDING) or job.on_hold:
        raise await too_late(tx, job, steered=True, on_hold=job.on_hold)
    if not (await tx.the(_STANDING, job=job.id, conversation=conversation.id)).unsent:
        raise await too_late(tx, job, steered=True, on_hold=False)
    await tx.the(
        _HOLD,
        org=conversation.org,
        conversation=conversation.id,
        job=job.id,
        state=job.state.value,
        fence=job.fence,
        who=who,
        why="hold",
        facts=None,
    )
    await note_job(tx, conversation.org, who, "job.held", job.id)


async def release(tx: Transaction, org: OrgId | None, job_id: JobId, who: str) -> None:
    """Row 19. The rest of the countdown runs; between bubbles the next leaves now, or after the one that is out. A
    silence has none to run: it is carried out."""
    conversation = await lock_of_job(tx, org, job_id)
    job = await read_or_refuse(tx, conversation, job_id)
    if not job.state.live or not job.on_hold:
        raise await too_late(tx, job, steered=True, on_hold=job.on_hold)
    bubble_out = (await tx.the(_STANDING, job=job.id, conversation=conversation.id)).bubble_out
    spec = conversation.persona.spec
    row = await tx.one(
        _RELEASE,
        org=conversation.org,
        conversation=conversation.id,
        job=job.id,
        state=job.state.value,
        fence=job.fence,
        bubble_out=bubble_out,
        control_window=window.wait(spec, NO_STRATEGY).seconds,
        fast=job.state is JobState.SENDING and not bubble_out,
        cap=conversation.organization.spec.limits.in_flight,
        who=who,
        why="release",
        facts=None,
    )
    if row is None:
        await silences_held.carry_out(tx, conversation, job, who)
    await note_job(tx, conversation.org, who, "job.released", job.id)
    if row is not None and row.dispatched:
        tx.hints.append(DelayedSend(conversation=conversation.id, job=job.id))
