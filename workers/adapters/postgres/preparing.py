"""A voice bubble is taken to be spoken, a payment bubble to get its link, and what becomes of it when that fails.

Between the window and the post such a bubble is `preparing`: seconds in which the contact may write and an operator
may edit, hold or cancel. So it has not left yet, and its job is leased like a run's.
"""

from pipelines.delivery import bodies
from pipelines.delivery.pacing import next_attempt_seconds
from pipelines.text import storable
from schemas.claims import Preparing
from schemas.errors import Code
from schemas.ids import CandidateId
from workers.adapters.postgres.jobs import AT_REST, EVENT, NO_COMPLAINT, Job, facts
from workers.adapters.postgres.locks import Locked
from workers.adapters.postgres.transaction import Row, Transaction, sql
from workers.adapters.postgres.webhooks import insert_for

MAX_TRIES = 3
"""Failed attempts, or deaths of the worker, after which a person is asked."""

_MAKING = {Code.SPEECH: "it was spoken", Code.PAYMENT_LINK: "its link was made"}
_FAILED = {Code.SPEECH: "speech_failed", Code.PAYMENT_LINK: "link_failed", Code.MEDIA: "media_not_sendable"}

_TAKE = sql(f"""
WITH job AS (
  UPDATE jobs SET state = 'sending', due_at = NULL, dispatched_at = NULL, fence = fence + 1, crashes = crashes + 1,
                  {NO_COMPLAINT}, lease_until = clock_timestamp() + make_interval(secs => :lease),
                  leased_by = :instance
  WHERE id = :job AND state = :from AND fence = :fence
  RETURNING id, fence
), bubble AS (
  UPDATE candidates SET state = 'preparing' WHERE id = :candidate AND EXISTS (SELECT 1 FROM job)
), told AS ({EVENT.format(of="job", frm=":from", to="'sending'")})
SELECT fence FROM job
""")

_BUBBLE_BACK = """UPDATE candidates SET state = 'held'
  WHERE id = :candidate AND state = 'preparing' AND EXISTS (SELECT 1 FROM job)"""

_PUT_BACK = sql(f"""
WITH job AS (
  UPDATE jobs SET tries = :tries, crashes = 0, {AT_REST},
                  due_at = CASE WHEN on_hold THEN NULL ELSE clock_timestamp() + make_interval(secs => :pause) END
  WHERE id = :job AND state = 'sending' AND fence = :fence
  RETURNING id
), bubble AS ({_BUBBLE_BACK}
), told AS ({EVENT.format(of="job", frm="'sending'", to="'sending'")})
SELECT id FROM job
""")

_ASK = sql(f"""
WITH job AS (
  UPDATE jobs SET state = 'held', on_hold = true, rest = NULL, due_at = NULL, tries = 0, crashes = 0, {AT_REST},
                  code = :code, reason = :reason, attention = 'open'
  WHERE id = :job AND state = :from AND fence = :fence
  RETURNING id
), bubble AS ({_BUBBLE_BACK}
), raised AS ({insert_for("job", bodies.ATTENTION_RAISED, "body")}
), told AS ({EVENT.format(of="job", frm=":from", to="'held'")})
SELECT id FROM job
""")


async def take(tx: Transaction, conversation: Locked, job: Job, look: Row) -> Preparing | None:
    """`held` to `preparing`, to be spoken. None: a person is asked first."""
    candidate = CandidateId(look.candidate)
    fence = await lease(tx, conversation, job, candidate, Code.SPEECH)
    if fence is None:
        return None
    spec = conversation.persona.spec
    return Preparing(
        job=job.id,
        conversation=conversation.id,
        org=conversation.org,
        fence=fence,
        candidate=candidate,
        version=look.version,
        text=look.text,
        voice=spec.voice,
        language=spec.language or look.locale or conversation.organization.spec.locale,
        consented=bool(spec.voice_consent_record),
        due_at=job.due_at,
    )


async def lease(tx: Transaction, conversation: Locked, job: Job, candidate: CandidateId, code: Code) -> int | None:
    """`held` to `preparing`, under the fence that is answered. None: its worker has died so often that a person is
    asked first; `code` says what was being made."""
    if job.crashes >= MAX_TRIES:
        sentence = f"its worker died {job.crashes} times while {_MAKING[code]}"
        await ask(tx, conversation, job, candidate, code, sentence, "worker_died")
        return None
    row = await tx.the(
        _TAKE,
        org=conversation.org,
        conversation=conversation.id,
        job=job.id,
        fence=job.fence,
        candidate=candidate,
        lease=tx.lease,
        instance=tx.instance,
        who="worker",
        why="preparing",
        facts=facts(candidate=candidate),
        **{"from": job.state.value},
    )
    fence: int = row.fence
    return fence


async def put_back(
    tx: Transaction, conversation: Locked, job: Job, candidate: CandidateId, why: str, *, pause: float = 0, tries: int
) -> None:
    """`preparing` to `held`: due again after `pause` seconds, or when the hold is lifted."""
    await tx.one(
        _PUT_BACK,
        org=conversation.org,
        conversation=conversation.id,
        job=job.id,
        fence=job.fence,
        candidate=candidate,
        tries=tries,
        pause=pause,
        who="worker",
        why=why,
        facts=facts(candidate=candidate, pause=round(pause, 3)),
    )


async def failed(
    tx: Transaction,
    conversation: Locked,
    job: Job,
    candidate: CandidateId,
    code: Code,
    sentence: str,
    again: float | None,
) -> None:
    """One attempt failed. `again`: seconds to wait at least; None: another attempt would fail alike."""
    tries = job.tries + 1
    if again is None or tries >= MAX_TRIES:
        await ask(tx, conversation, job, candidate, code, sentence)
        return
    pause = next_attempt_seconds(tries, again, tx.chance())
    await put_back(tx, conversation, job, candidate, _FAILED[code], pause=pause, tries=tries)


async def ask(
    tx: Transaction,
    conversation: Locked,
    job: Job,
    candidate: CandidateId,
    code: Code,
    sentence: str,
    reason: str | None = None,
) -> None:
    """Row 29: the reply is held without a countdown and a person is told; approving it tries again. `reason` is a
    machine token, by default the one of `code`; the sentence is kept in the event."""
    reason = reason or _FAILED[code]
    body = bodies.attention_raised(job.id, conversation.name, code, reason, conversation.now)
    await tx.one(
        _ASK,
        org=conversation.org,
        conversation=conversation.id,
        job=job.id,
        fence=job.fence,
        candidate=candidate,
        code=code.value,
        reason=reason,
        body=body,
        who="worker",
        why=_FAILED[code],
        facts=facts(candidate=candidate, code=code.value, detail=storable(sentence)),
        **{"from": job.state.value},
    )
