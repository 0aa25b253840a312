"""Row 34: the time of a planned follow-up has come. A job is made, or it is said why not.

Found and locked in one statement that passes over what somebody else has locked: of two clocks each conversation
belongs to one, and what was busy is seen at the next look.
"""

from pipelines.autoreply import followup
from pipelines.autoreply.followup import Standing
from schemas.claims import JobState, NoFollowUp, NoJob
from schemas.conversation import FollowUp, Trigger
from schemas.decisions import SilenceReason
from workers.adapters.postgres.jobs import Job, make
from workers.adapters.postgres.locks import CONTACT_FLAGS, LOCKED, Locked, of_row
from workers.adapters.postgres.transaction import Row, Transaction, sql

BATCH = 50
"""Conversations locked at once."""

NO_FOLLOW_UP = "no_follow_up:"
"""How the reason of a line begins that says why nothing was written; the token follows."""

SENTENCES = {
    NoFollowUp.ON_ITS_WAY: "a reply is on its way already",
    NoFollowUp.UNANSWERED: f"{followup.MOST_IN_A_ROW} in a row got no answer",
    NoFollowUp.CANCELLED: "the reply before it was cancelled",
    NoFollowUp.FAILED: "the reply before it failed",
    NoJob.ERASED: "the contact was erased",
    NoJob.SAFETY_LOCK: "a safety stop has locked the contact",
    NoJob.OPTED_OUT: "the contact has opted out",
    NoJob.HUMAN_HANDLES: "a person handles the conversation",
    NoJob.AUTONOMY_OFF: "the persona's autonomy is off",
}

_DUE = sql(f"""
SELECT {LOCKED}
FROM conversations c
JOIN contacts ct ON ct.id = c.contact_id
JOIN organizations o ON o.id = c.org_id
JOIN personas p ON p.id = c.persona_id
WHERE c.follow_up_at <= statement_timestamp()
ORDER BY c.follow_up_at LIMIT {BATCH}
FOR NO KEY UPDATE OF c SKIP LOCKED
""")

_WRITTEN = """(
  SELECT count(*) FROM jobs f
  WHERE f.conversation_id = {conversation} AND f.kind = 'follow_up' AND f.inbound_seq = {seq}
    AND f.state IN ('sent', 'silent')
)"""
"""Follow-ups since the contact last did something."""

_STANDING = sql(f"""
SELECT c.id AS conversation, {CONTACT_FLAGS}, ct.timezone, newest.state AS newest,
       {_WRITTEN.format(conversation="c.id", seq="c.inbound_seq")} AS written
FROM conversations c
JOIN contacts ct ON ct.id = c.contact_id
LEFT JOIN LATERAL (
  SELECT state FROM jobs WHERE conversation_id = c.id AND kind <> 'delivery' ORDER BY id DESC LIMIT 1
) newest ON true
WHERE c.id = ANY(:conversations)
""")

_TAKE = sql("UPDATE conversations SET follow_up_at = NULL WHERE id = :conversation")
_POSTPONE = sql("UPDATE conversations SET follow_up_at = CAST(:until AS timestamptz) WHERE id = :conversation")

_DROP = sql("""
WITH dropped AS (
  UPDATE conversations SET follow_up_at = NULL, last_position = last_position + 1 WHERE id = :conversation
  RETURNING last_position
)
INSERT INTO messages (org_id, conversation_id, author, position, text, reason)
SELECT :org, :conversation, 'system', last_position, :line, :reason FROM dropped
""")

_WHY = sql(f"""
SELECT {_WRITTEN.format(conversation=":conversation", seq=":seq")} AS written, (
  SELECT note FROM jobs
  WHERE conversation_id = :conversation AND state = 'silent' AND reason = '{SilenceReason.LEFT_ON_READ}' AND id <> :job
  ORDER BY id DESC LIMIT 1
) AS reason
""")


async def due(tx: Transaction) -> int:
    """Answers how many jobs were made; the rest was dropped or waits for the persona's hours."""
    conversations = [await of_row(tx, row) for row in await tx.all(_DUE)]
    if not conversations:
        return 0
    found = await tx.all(_STANDING, conversations=[conversation.id for conversation in conversations])
    standing = {row.conversation: row for row in found}
    return sum([await _follow(tx, conversation, standing[conversation.id]) for conversation in conversations])


async def why(tx: Transaction, conversation: Locked, job: Job) -> FollowUp | None:
    """What the run of a follow-up is told of itself. `job` as it was before its claim."""
    if job.kind != "follow_up":
        return None
    row = await tx.the(_WHY, conversation=conversation.id, seq=conversation.inbound_seq, job=job.id)
    return FollowUp(row.written + 1, row.reason)


async def _follow(tx: Transaction, conversation: Locked, look: Row) -> bool:
    newest = None if look.newest is None else JobState(look.newest)
    reason = followup.dropped(Standing(conversation.closed_to_ai(look), newest, look.written))
    if reason is not None:
        await _drop(tx, conversation, reason)
        return False
    spec = conversation.persona.spec
    zones = (look.timezone, spec.timezone, conversation.organization.spec.timezone)
    until = followup.postponed(spec.proactive_hours, conversation.now, *zones)
    if until is not None:
        await tx.run(_POSTPONE, conversation=conversation.id, until=until)
        return False
    await tx.run(_TAKE, conversation=conversation.id)
    await make(tx, conversation, why="follow_up", who="clock", trigger=Trigger.FOLLOW_UP, quiet=0)
    return True


async def _drop(tx: Transaction, conversation: Locked, reason: NoJob | NoFollowUp) -> None:
    await tx.run(
        _DROP,
        org=conversation.org,
        conversation=conversation.id,
        line=f"no follow-up: {SENTENCES[reason]}",
        reason=f"{NO_FOLLOW_UP}{reason.value}",
    )
