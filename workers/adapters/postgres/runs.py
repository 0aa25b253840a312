"""A reply worker takes a job: a new run, or one that another worker left off."""

from pipelines.agent import parameters
from pipelines.autoreply.engine import engine_of
from schemas.agent import Resume, SavedStep
from schemas.claims import Claim, JobState, MustBeAlone
from schemas.errors import Code
from schemas.ids import RunId
from schemas.jobs import AutoReply
from schemas.llm import Task
from workers.adapters.postgres import case, failures, inbound, ledger, quotas, steps
from workers.adapters.postgres.jobs import AT_REST, EVENT, JOB, MAX_RESTARTS, Job, send_away, successor
from workers.adapters.postgres.locks import CONTACT_FLAGS, Locked, lock
from workers.adapters.postgres.transaction import Row, Transaction, sql

MAX_CRASHES = 3

_LOOK = sql(f"""
SELECT {JOB}, {CONTACT_FLAGS}, {case.CONTACT}, j.trigger, j.instruction,
       j.lease_until IS NULL AND j.due_at <= clock_timestamp() AS due,
       EXISTS (SELECT 1 FROM deliveries d WHERE d.conversation_id = :conversation AND d.candidate_id IS NOT NULL
                 AND d.state = 'posting') AS bubble_out
FROM jobs j JOIN contacts ct ON ct.id = :contact
WHERE j.id = :job AND j.conversation_id = :conversation AND j.kind <> 'delivery' AND j.state IN ('queued', 'running')
FOR NO KEY UPDATE OF j
""")

_NOT_YET = sql("""
UPDATE jobs
SET dispatched_at = NULL,
    due_at = CASE WHEN due_at <= clock_timestamp() THEN clock_timestamp() + interval '200 ms' ELSE due_at END
WHERE id = :job AND state IN ('queued', 'running') AND lease_until IS NULL
""")

_PUT_OFF = sql("""
UPDATE jobs SET dispatched_at = NULL, due_at = clock_timestamp() + interval '2 s'
WHERE id = :job AND state IN ('queued', 'running') AND lease_until IS NULL
""")

# To the clock this hint is still on its way.
_EXPECT = sql("""
UPDATE jobs SET dispatched_at = clock_timestamp() + interval '20 s'
WHERE id = :job AND state IN ('queued', 'running') AND lease_until IS NULL
""")

_CLAIM = sql(f"""
WITH claimed AS (
  UPDATE jobs
  SET state = 'running', inbound_seq = :seq, fence = fence + 1, claims = claims + 1, crashes = crashes + 1,
      due_at = NULL, lease_until = clock_timestamp() + make_interval(secs => :lease), leased_by = :instance
  WHERE id = :job AND state = :from AND fence = :fence AND lease_until IS NULL AND due_at <= clock_timestamp()
  RETURNING id, fence
), told AS ({EVENT.format(of="claimed", frm=":from", to="'running'")})
SELECT fence FROM claimed
""")

_OPEN_RUN = sql("SELECT id, inbound_seq, active_seconds FROM runs WHERE job_id = :job AND outcome IS NULL")
_CHOOSE_ANEW = sql("UPDATE jobs SET engine = :engine WHERE id = :job AND engine <> :engine")
_NEW_RUN = sql(f"""
WITH {quotas.PLACE}, chosen AS (
  UPDATE jobs SET engine = :engine, quota_month = coalesce((SELECT month FROM counted), quota_month)
  WHERE id = :job AND (engine <> :engine OR EXISTS (SELECT 1 FROM counted))
)
INSERT INTO runs (job_id, inbound_seq) SELECT :job, :seq FROM may WHERE may.run RETURNING id
""")
_STEPS = sql("SELECT n, task, CAST(content AS text) AS content FROM run_steps WHERE run_id = :run ORDER BY n")

_DISCARD = sql("""
WITH closed AS (
  UPDATE runs SET outcome = 'discarded' WHERE id = :run
)
UPDATE ledger SET discarded = true,
                  state = CASE state WHEN 'reserved' THEN 'unknown' ELSE state END,
                  cost_usd = CASE state WHEN 'reserved' THEN reserved_usd ELSE cost_usd END
WHERE run_id = :run
""")

# The wait for another worker does not count as work; what this one did since its claim does.
_GIVE_BACK = sql(f"""
WITH queued AS (
  UPDATE jobs SET state = 'queued', crashes = 0, due_at = clock_timestamp(), {AT_REST}
  WHERE id = :job AND fence = :fence AND state = 'running'
  RETURNING id
), timed AS (
  UPDATE runs
  SET active_seconds = GREATEST(
        active_seconds, :active_before + EXTRACT(EPOCH FROM clock_timestamp() - CAST(:claimed_at AS timestamptz)))
  WHERE id = :run AND outcome IS NULL AND EXISTS (SELECT 1 FROM queued)
), told AS ({EVENT.format(of="queued", frm="'running'", to="'queued'")})
SELECT id FROM queued
""")


async def claim(tx: Transaction, hint: AutoReply, alone: bool) -> Claim | None:
    """None: there is nothing to claim, or not yet; then the row waits for the clock again. `alone`: this worker has
    nothing else in hand; else MustBeAlone is raised for a job that has seen all but the last worker die."""
    conversation = await lock(tx, hint.conversation)
    if conversation is None:
        return None
    look = await tx.one(_LOOK, job=hint.job, conversation=conversation.id, contact=conversation.contact_id)
    if look is None:
        return None
    if not look.due or look.bubble_out:
        # The model must see what is being said: a POST in flight ends within its time-out.
        await tx.run(_NOT_YET, job=hint.job)
        return None
    job = Job.of(look)
    if not await _may_run(tx, conversation, look, job):
        return None
    if job.crashes == MAX_CRASHES - 1 and not alone:
        raise MustBeAlone
    return await _take(tx, conversation, look, job)


async def put_off(tx: Transaction, hint: AutoReply) -> None:
    """No process of its own can be had now."""
    await tx.run(_PUT_OFF, job=hint.job)


async def expect(tx: Transaction, hint: AutoReply) -> None:
    """Its own process is being started, and takes it: nobody else is offered it meanwhile."""
    await tx.run(_EXPECT, job=hint.job)


async def give_back(tx: Transaction, claim: Claim) -> None:
    """The worker stops: the run is kept, and its job due for another one."""
    conversation = await lock(tx, claim.conversation)
    if conversation is not None:
        await tx.one(
            _GIVE_BACK,
            org=conversation.org,
            conversation=conversation.id,
            job=claim.job,
            fence=claim.fence,
            run=claim.resume.run,
            active_before=claim.resume.active_seconds,
            claimed_at=claim.case.now,
            who="worker",
            why="drained",
            facts=None,
        )


async def _may_run(tx: Transaction, conversation: Locked, look: Row, job: Job) -> bool:
    """False when the job took another way: poison, gate closed, or overtaken while nobody held it."""
    if job.crashes >= MAX_CRASHES:
        sentence = f"its worker died {job.crashes} times"
        await failures.fail(tx, conversation, job, Code.POISON, "worker_died", sentence)
        return False
    if (closed := conversation.closed_to_ai(look)) is not None:
        answers = job.seq if job.pinned else conversation.inbound_seq
        await send_away(tx, conversation, job, JobState.CANCELLED, closed, "worker", answers=answers)
        await successor(tx, conversation, answers)
        return False
    if job.state is JobState.QUEUED or job.pinned or job.seq == conversation.inbound_seq:
        return True
    if job.restarts >= MAX_RESTARTS:
        await inbound.pin(tx, conversation, job, "restarted_too_often")
        return True
    await steps.requeue(tx, conversation, job, orderly=False)
    return False


async def _take(tx: Transaction, conversation: Locked, look: Row, job: Job) -> Claim | None:
    takes_newest = job.state is JobState.QUEUED and not job.pinned
    seq = conversation.inbound_seq if takes_newest else job.seq
    claimed = await tx.one(
        _CLAIM,
        org=conversation.org,
        conversation=conversation.id,
        job=job.id,
        fence=job.fence,
        seq=seq,
        lease=tx.lease,
        instance=tx.instance,
        who="worker",
        why="claimed" if job.state is JobState.QUEUED else "reclaimed",
        facts=None,
        **{"from": job.state.value},
    )
    if claimed is None:
        return None
    loaded = await case.load(tx, conversation, look, job)
    resume = await _resume(tx, conversation, job, seq, claimed.fence)
    if resume is None:
        await quotas.refuse(tx, conversation, job, claimed.fence, seq)
        return None
    return Claim(job.id, conversation.id, conversation.org, claimed.fence, loaded, resume)


async def _resume(tx: Transaction, conversation: Locked, job: Job, seq: int, fence: int) -> Resume | None:
    """The open run, when it was thought for the same count; else a new one. None: the plan has no place for it."""
    left = await tx.one(_OPEN_RUN, job=job.id) if job.claims else None
    if left is not None and left.inbound_seq == seq:
        await ledger.give_up_hope(tx, left.id)
        saved = [SavedStep(row.n, Task(row.task), row.content) for row in await tx.all(_STEPS, run=left.id)]
        if not saved:
            await tx.run(_CHOOSE_ANEW, job=job.id, engine=_engine(tx, conversation))
        return Resume(RunId(left.id), fence, tuple(saved), left.active_seconds, job.tries)
    if left is not None:
        await tx.run(_DISCARD, run=left.id)
    place = quotas.place(tx, conversation)
    row = await tx.one(_NEW_RUN, org=conversation.org, job=job.id, seq=seq, engine=_engine(tx, conversation), **place)
    return None if row is None else Resume(RunId(row.id), fence, tries=job.tries)


def _engine(tx: Transaction, conversation: Locked) -> str:
    """The engine that a run which has not begun will use; the job says so from here on."""
    spec = conversation.persona.spec
    limits = parameters.resolve(tx.settings, conversation.organization.spec.agent, spec.agent)
    return engine_of(limits, spec).value
