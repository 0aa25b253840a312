"""The moves every part shares: a job is made, goes away with its drafts, is answered by a successor.

Each is one statement under the conversation's lock, guarded by the state and fence that were read under it.
"""

import json
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from schemas.claims import JobState
from schemas.conversation import Flag, Trigger
from schemas.errors import Code, NotFound
from schemas.ids import JobId
from schemas.jobs import AutoReply
from workers.adapters.postgres.dispatch_now import DISPATCHED_REPLY
from workers.adapters.postgres.locks import Locked
from workers.adapters.postgres.transaction import Row, Transaction, sql

LIVE = "('queued', 'running', 'held', 'sending')"

CANCELLED = "cancelled"
"""The reason of a job that a person cancelled."""

MAX_RESTARTS = 2
MAX_SUPERSEDES = 3

AT_REST = "dispatched_at = NULL, lease_until = NULL, leased_by = NULL, fence = fence + 1"
"""What leaving a state clears, besides `due_at`, which most moves set anew."""

_FLAGS = ", ".join(f"'{flag}'" for flag in Flag)
FLAGGED = f"""CASE WHEN attention = 'open' AND string_to_array(note, '; ') && ARRAY[{_FLAGS}] THEN 'open' END"""
"""The job's attention when its code is settled: what a person was told besides stays until somebody dismisses it."""

NO_COMPLAINT = f"code = NULL, reason = NULL, attention = {FLAGGED}"
"""What a job held because its speech had failed is rid of when it goes on: approved or released, that is decided."""

JOB = """j.id AS job, j.state AS job_state, j.kind AS job_kind, j.fence AS job_fence, j.inbound_seq AS job_seq,
j.pinned AS job_pinned, j.restarts AS job_restarts, j.supersedes AS job_supersedes, j.tries AS job_tries,
j.crashes AS job_crashes, j.claims AS job_claims, j.on_hold AS job_on_hold, j.due_at AS job_due_at,
j.trigger = 'payment' AS job_bought"""

EVENT = """INSERT INTO job_events (org_id, job_id, conversation_id, who, from_state, to_state, why, facts)
SELECT :org, {of}.id, :conversation, :who, {frm}, {to}, :why, CAST(:facts AS jsonb) FROM {of}"""

# A webhook about the job that nobody took is a letter of its own: running the job again does not send it.
LETTERS_ANSWERED = """
  UPDATE dead_letters SET state = 'retried'
  WHERE job_id = :job AND state = 'open' AND EXISTS (SELECT 1 FROM again) AND NOT EXISTS (
    SELECT 1 FROM deliveries d WHERE d.id = delivery_id AND d.candidate_id IS NULL)"""


@dataclass(frozen=True, slots=True)
class Job:
    """A job as read under the conversation's lock."""

    id: JobId
    state: JobState
    kind: str
    fence: int
    seq: int
    pinned: bool
    restarts: int
    supersedes: int
    tries: int
    crashes: int
    claims: int
    on_hold: bool
    due_at: datetime | None
    bought: bool = False
    """What was paid for; other deliveries are notices."""

    @property
    def replies(self) -> bool:
        """False for what is owed whatever the contact says next, and so answers nothing (notices, purchases)."""
        return self.kind != "delivery"

    @classmethod
    def of(cls, row: Row) -> "Job":
        return cls(
            id=JobId(row.job),
            state=JobState(row.job_state),
            kind=row.job_kind,
            fence=row.job_fence,
            seq=row.job_seq,
            pinned=row.job_pinned,
            restarts=row.job_restarts,
            supersedes=row.job_supersedes,
            tries=row.job_tries,
            crashes=row.job_crashes,
            claims=row.job_claims,
            on_hold=row.job_on_hold,
            due_at=row.job_due_at,
            bought=row.job_bought,
        )


_BY_ID = sql(f"SELECT {JOB} FROM jobs j WHERE j.id = :job AND j.conversation_id = :conversation")
_HOLD_STILL = sql("SELECT id FROM jobs WHERE id = :job FOR NO KEY UPDATE")
_LIVE = sql(
    f"SELECT {JOB} FROM jobs j WHERE j.conversation_id = :conversation AND j.kind <> 'delivery' AND j.state IN {LIVE}"
)

_NEW = sql(f"""
WITH made AS (
  INSERT INTO jobs (org_id, conversation_id, queue, kind, trigger, engine, state, inbound_seq, supersedes,
                    first_message_at, due_at, dispatched_at)
  VALUES (:org, :conversation, 'reply', CASE :trigger WHEN 'follow_up' THEN 'follow_up' ELSE 'reply' END, :trigger,
          :engine, 'queued', :seq, :supersedes,
          COALESCE(CAST(:since AS timestamptz), clock_timestamp()),
          GREATEST(COALESCE(CAST(:since AS timestamptz), clock_timestamp()) + make_interval(secs => :quiet),
                   clock_timestamp(), CAST(:paused_until AS timestamptz)),
          {DISPATCHED_REPLY})
  ON CONFLICT (conversation_id) WHERE kind <> 'delivery' AND state IN {LIVE} DO NOTHING
  RETURNING id, dispatched_at
), told AS ({EVENT.format(of="made", frm="NULL", to="'queued'")})
SELECT id, dispatched_at IS NOT NULL AS dispatched FROM made
""")

_AWAY = sql(f"""
WITH ended AS (
  UPDATE jobs SET state = :to, reason = :why, code = CAST(:code AS text), attention = {FLAGGED},
                  inbound_seq = GREATEST(inbound_seq, :seq), due_at = NULL, {AT_REST},
                  on_hold = false, rest = NULL, ended_at = clock_timestamp()
  WHERE id = :job AND state = :from AND fence = :fence
  RETURNING id
), closed AS (
  UPDATE runs SET outcome = 'discarded'
  WHERE job_id = :job AND outcome IS NULL AND EXISTS (SELECT 1 FROM ended)
  RETURNING id
), spent AS (
  UPDATE ledger SET discarded = true,
                    state = CASE state WHEN 'reserved' THEN 'unknown' ELSE state END,
                    cost_usd = CASE state WHEN 'reserved' THEN reserved_usd ELSE cost_usd END
  WHERE run_id IN (SELECT id FROM closed)
), stopped AS (
  UPDATE deliveries SET state = 'recalled', due_at = NULL, {AT_REST}, ended_at = clock_timestamp()
  WHERE conversation_id = :conversation AND candidate_id IS NOT NULL AND state = 'waiting' AND NOT ambiguous
    AND job_id = :job AND EXISTS (SELECT 1 FROM ended)
  RETURNING candidate_id
), recalled AS (
  UPDATE candidates SET state = 'recalled', reason = :why
  WHERE job_id = :job AND EXISTS (SELECT 1 FROM ended)
    AND (state IN ('held', 'preparing') OR id IN (SELECT candidate_id FROM stopped))
  RETURNING id
), unsaid AS (
  DELETE FROM messages WHERE candidate_id IN (SELECT candidate_id FROM stopped)
), unseen AS (
  DELETE FROM media_facts WHERE candidate_id IN (SELECT candidate_id FROM stopped)
), told AS ({EVENT.format(of="ended", frm=":from", to=":to")})
SELECT (SELECT count(*) FROM ended) AS ended, (SELECT count(*) FROM recalled) AS recalled
""")

_TELL = sql(f"""
WITH same AS (SELECT id FROM jobs WHERE id = :job), told AS ({EVENT.format(of="same", frm=":state", to=":state")})
SELECT id FROM same
""")


async def read(tx: Transaction, conversation: Locked, job: int) -> Job | None:
    row = await tx.one(_BY_ID, job=job, conversation=conversation.id)
    return None if row is None else Job.of(row)


async def live(tx: Transaction, conversation: Locked) -> Job | None:
    row = await tx.one(_LIVE, conversation=conversation.id)
    return None if row is None else Job.of(row)


async def make(
    tx: Transaction,
    conversation: Locked,
    *,
    why: str,
    who: str = "system",
    trigger: Trigger = Trigger.MESSAGE,
    quiet: float | None = None,
    supersedes: int = 0,
    waiting: bool = False,
) -> JobId | None:
    """A queued job for all that is unanswered; None when one is live already.

    `quiet` seconds (the persona's, capped by its max wait) count from now, or from the contact's newest message when
    that was `waiting` for another job to end. A pause delays, it does not swallow.
    """
    debounce = conversation.persona.spec.debounce
    pause = min(debounce.quiet_seconds, debounce.max_wait_seconds) if quiet is None else quiet
    row = await tx.one(
        _NEW,
        org=conversation.org,
        conversation=conversation.id,
        trigger=trigger.value,
        engine=conversation.persona.spec.engine,
        seq=conversation.inbound_seq,
        supersedes=supersedes,
        since=conversation.last_inbound_at if waiting else None,
        quiet=pause,
        paused_until=conversation.paused_until,
        fast=pause == 0 and not conversation.paused,
        cap=conversation.organization.spec.limits.in_flight,
        who=who,
        why=why,
        facts=None,
    )
    if row is None:
        return None
    if row.dispatched:
        tx.hints.append(AutoReply(conversation=conversation.id, job=row.id))
    return JobId(row.id)


async def send_away(
    tx: Transaction,
    conversation: Locked,
    job: Job,
    to: JobState,
    why: str,
    who: str,
    answers: int | None = None,
    code: Code | None = None,
) -> int:
    """End a job that its conversation has moved past, and recall what has not left. Answers how many bubbles that was.

    `answers` raises the count it covers: a cancelled job has dealt with all that was unanswered.
    """
    if job.state is JobState.RUNNING:
        # A step is saved without the conversation's lock. Waiting for it inside the statement below would leave its
        # reservation out of that statement's snapshot, and so reserved for ever.
        await tx.one(_HOLD_STILL, job=job.id)
    row = await tx.the(
        _AWAY,
        org=conversation.org,
        conversation=conversation.id,
        job=job.id,
        to=to.value,
        fence=job.fence,
        seq=job.seq if answers is None else answers,
        code=code,
        why=why,
        who=who,
        facts=None,
        **{"from": job.state.value},
    )
    if not row.ended:
        raise AssertionError(f"job {job.id} moved under its conversation's lock")
    recalled: int = row.recalled
    return recalled


async def successor(tx: Transaction, conversation: Locked, covered: int) -> JobId | None:
    """A job has ended that covers the contact's count up to `covered`; what came later gets its own job.

    Part of the transaction that ends it, so that no message is ever without a job or a reason.
    """
    if conversation.inbound_seq <= covered or conversation.handled_by != "ai":
        return None
    return await make(tx, conversation, why="the rest, after a reply that stood", waiting=True)


async def tell(tx: Transaction, conversation: Locked, job: Job, why: str, who: str, **more: Any) -> None:
    """An event that leaves the job in its state."""
    await tx.the(
        _TELL,
        org=conversation.org,
        conversation=conversation.id,
        job=job.id,
        state=job.state.value,
        who=who,
        why=why,
        facts=facts(**more) if more else None,
    )


async def read_or_refuse(tx: Transaction, conversation: Locked, job: int) -> Job:
    found = await read(tx, conversation, job)
    if found is None:
        raise NotFound("no such job")
    return found


def facts(**values: Any) -> str:
    return json.dumps(values, ensure_ascii=False)
