"""No reply, and that is right: the job ends, what the run decided besides takes effect, the conversation says so."""

from pipelines.delivery import bodies
from pipelines.text import storable
from schemas.claims import Claim, Ended, JobState
from schemas.decisions import Silence, SilenceReason
from schemas.ids import JobId
from workers.adapters.postgres.jobs import AT_REST, EVENT, Job, facts, successor
from workers.adapters.postgres.ledger import UNHEARD
from workers.adapters.postgres.locks import Locked
from workers.adapters.postgres.steps import TRACED, outcomes, traced
from workers.adapters.postgres.transaction import Transaction, sql
from workers.adapters.postgres.webhooks import insert_for

SENTENCES = {
    SilenceReason.NOTHING_TO_ANSWER: "nothing to answer",
    SilenceReason.BOT_LOOP: "too many replies within a minute: probably two machines talking",
    SilenceReason.LEFT_ON_READ: "left on read",
    SilenceReason.PAUSED: "paused",
    SilenceReason.AUTONOMY_OFF: "autonomy is off",
    SilenceReason.GONE: "contact or conversation is gone",
    SilenceReason.OPTED_OUT: "the contact wants no more messages",
}

_NEWEST = sql("""
SELECT name FROM messages
WHERE conversation_id = :conversation AND author = 'contact' AND deleted_at IS NULL
ORDER BY position DESC LIMIT 1
""")

_END = sql(f"""
WITH ended AS (
  UPDATE jobs
  SET state = 'silent', reason = :reason, code = CAST(:code AS text), note = :detail, due_at = NULL, crashes = 0,
      {AT_REST}, on_hold = false, ended_at = clock_timestamp(), rules = COALESCE(CAST(:rules AS json), rules)
  WHERE id = :job AND fence = :fence AND state = :from
  RETURNING id
), kept AS (
  UPDATE conversations
  SET plan = COALESCE(CAST(:plan AS text), plan), last_position = last_position + 1,
      paused_until = COALESCE(CAST(:paused_until AS timestamptz), paused_until),
      follow_up_at = CAST(:follow_up_at AS timestamptz)
  WHERE id = :conversation
), said AS (
  INSERT INTO messages (org_id, conversation_id, author, position, text, job_id)
  SELECT :org, :conversation, 'system', :position, :line, id FROM ended
), closed AS (
  UPDATE runs SET outcome = 'decided', {TRACED} WHERE id = :run
), unheard AS ({UNHEARD.format(which="run_id = :run")}
), seen AS (SELECT id FROM ended WHERE :read
), webhook AS ({insert_for("seen", bodies.MESSAGE_READ, "body")}
), told AS ({EVENT.format(of="ended", frm=":from", to="'silent'")})
SELECT id FROM ended
""")


_SAY = sql("""
WITH counted AS (
  UPDATE conversations SET last_position = last_position + 1 WHERE id = :conversation RETURNING last_position
)
INSERT INTO messages (org_id, conversation_id, author, position, text, job_id)
SELECT :org, :conversation, 'system', counted.last_position, :line, :job FROM counted
""")


async def say(tx: Transaction, conversation: Locked, job: JobId, reason: SilenceReason) -> None:
    """The line of a job that ended silent without a run: by the message itself. It stands after that message."""
    line = SENTENCES[reason]
    await tx.run(_SAY, org=conversation.org, conversation=conversation.id, job=job, line=line)


async def end(
    tx: Transaction, conversation: Locked, job: Job, claim: Claim | None, silence: Silence, who: str = "worker"
) -> Ended:
    """Row 14, or 17 without a claim: a person approved it. A follow-up is not planned when the contact has written
    since."""
    newest = await tx.one(_NEWEST, conversation=conversation.id) if silence.read else None
    overtaken = conversation.inbound_seq > job.seq
    await tx.the(
        _END,
        org=conversation.org,
        conversation=conversation.id,
        job=job.id,
        fence=job.fence,
        run=None if claim is None else claim.resume.run,
        reason=silence.reason.value,
        code=silence.code,
        detail=silence.detail,
        rules=outcomes(silence.strategy),
        plan=silence.plan,
        paused_until=silence.paused_until,
        follow_up_at=None if overtaken else silence.follow_up_at,
        position=conversation.last_position + 1,
        line=_line(silence),
        read=newest is not None,
        body=bodies.message_read(conversation.name, newest.name, conversation.now) if newest else "",
        trace=traced(silence.trace),
        who=who,
        why=silence.reason.value,
        facts=facts(code=silence.code) if silence.code else None,
        **{"from": job.state.value},
    )
    await successor(tx, conversation, job.seq)
    return Ended(JobState.SILENT, silence.code)


def _line(silence: Silence) -> str:
    line = SENTENCES[silence.reason]
    if silence.paused_until is not None:
        line = f"{line} until {silence.paused_until.isoformat()}"
    return storable(f"{line}: {silence.detail}" if silence.detail else line)
