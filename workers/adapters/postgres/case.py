"""Load what a run may know: one conversation, as it is at the moment of the claim."""

from collections.abc import Sequence
from datetime import timedelta

from pipelines.memory.window import first_kept, most_kept
from schemas.conversation import Attachment, Author, BubbleKind, Case, Contact, Trigger, Turn
from schemas.ids import CandidateId
from workers.adapters.postgres import followups
from workers.adapters.postgres.answered import answered
from workers.adapters.postgres.jobs import LIVE, Job
from workers.adapters.postgres.locks import Locked
from workers.adapters.postgres.transaction import Row, Transaction, sql

SPOKEN_LOOKED_AT = 500

# A bubble counts as said when it was sent, or when its receiver may have shown it although no answer came back: also
# one that was given up since.
_MAY_BE_SHOWN = "EXISTS (SELECT 1 FROM deliveries d WHERE d.candidate_id = k.id AND d.ambiguous)"
_SAID = f"(k.state = 'sent' OR {_MAY_BE_SHOWN})"

# Asked in the row that is read anyway. The newest bubbles of each conversation are looked at, whatever its length.
_VOCALS_TODAY = f"""(
  SELECT count(*) FROM conversations vc CROSS JOIN LATERAL (
    (SELECT k.kind, k.left_at FROM candidates k
     WHERE k.conversation_id = vc.id AND (k.state = 'sent' OR (k.state = 'failed' AND {_MAY_BE_SHOWN}))
     ORDER BY k.id DESC LIMIT {SPOKEN_LOOKED_AT})
    UNION ALL
    SELECT vk.kind, clock_timestamp() FROM jobs vj JOIN candidates vk ON vk.job_id = vj.id
    WHERE vj.conversation_id = vc.id AND vj.kind <> 'delivery' AND vj.state IN {LIVE} AND vj.id <> j.id
      AND vk.state IN ('held', 'preparing', 'leaving')
  ) AS said
  WHERE vc.contact_id = ct.id AND said.kind = 'voice' AND said.left_at > clock_timestamp() - interval '24 hours'
)"""

CONTACT = f"ct.display_name, ct.locale, ct.timezone, ct.profile, ct.noticed_at, {_VOCALS_TODAY} AS vocals_today"
"""Columns of the contact `ct` that `load` needs in its row, read beside the job `j`."""

SENT_KEPT = 200

# What no prompt holds takes no place: system lines, notices, messages without a word.
_TURNS = sql(f"""
SELECT m.position, m.author, m.text, m.created_at, m.kind, m.attachments, m.candidate_id, m.seq
FROM messages m
LEFT JOIN candidates k ON k.id = m.candidate_id
WHERE m.conversation_id = :conversation AND m.deleted_at IS NULL AND m.author <> 'system' AND m.kind <> 'notice'
  AND (m.author <> 'contact' OR m.attachments IS NOT NULL OR m.text ~ '\\S')
  AND (m.candidate_id IS NULL OR {_SAID})
ORDER BY m.position DESC LIMIT :most
""")

_SENT = sql(f"""
SELECT k.text, k.kind, k.job_id, k.left_at FROM candidates k
WHERE k.conversation_id = :conversation AND {_SAID} ORDER BY k.id DESC LIMIT {SENT_KEPT}
""")


async def load(tx: Transaction, conversation: Locked, look: Row, job: Job) -> Case:
    """`look` holds `CONTACT` and the job's `trigger` and `instruction`."""
    turns = list(reversed(await tx.all(_TURNS, conversation=conversation.id, most=most_kept())))
    first = first_kept([row.position for row in turns])
    sent = await tx.all(_SENT, conversation=conversation.id)
    covered = await answered(tx, conversation)
    return Case(
        now=conversation.now,
        organization=conversation.organization,
        persona=conversation.persona,
        contact=Contact(
            conversation.contact_id,
            conversation.contact,
            look.display_name,
            look.locale,
            look.timezone,
            look.profile,
            look.noticed_at,
        ),
        conversation=conversation.id,
        conversation_name=conversation.name,
        job=job.id,
        trigger=Trigger(look.trigger),
        turns=tuple(_turn(row, covered) for row in turns if row.position >= first),
        plan=conversation.plan,
        instruction=look.instruction,
        sent_texts=tuple(row.text for row in reversed(sent) if row.kind != BubbleKind.NOTICE),
        replies_last_minute=_recent_replies(sent, conversation),
        paused_until=conversation.paused_until,
        vocals_today=look.vocals_today,
        follow_up=await followups.why(tx, conversation, job),
    )


def _turn(row: Row, covered: int) -> Turn:
    return Turn(
        position=row.position,
        author=Author(row.author),
        text=row.text,
        at=row.created_at,
        kind=BubbleKind(row.kind),
        attachments=tuple(Attachment(item["type"], item["url"]) for item in row.attachments or ()),
        candidate=None if row.candidate_id is None else CandidateId(row.candidate_id),
        answered=row.author != Author.CONTACT or row.seq <= covered,
    )


def _recent_replies(sent: Sequence[Row], conversation: Locked) -> int:
    """Replies, not bubbles, of which something left within the last minute."""
    since = conversation.now - timedelta(minutes=1)
    return len({row.job_id for row in sent if row.left_at is not None and row.left_at > since})
