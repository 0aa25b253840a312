"""Load what a run may know: one conversation, as it is at the moment of the claim."""

from collections.abc import Sequence
from datetime import timedelta

from pipelines.memory.window import most_kept, window_size
from schemas.conversation import BubbleKind, Case, Contact, Trigger
from workers.adapters.postgres import efforts, followups, media_seen, money_seen, summaries, turns
from workers.adapters.postgres.answered import answered
from workers.adapters.postgres.jobs import LIVE, Job
from workers.adapters.postgres.locks import Locked
from workers.adapters.postgres.transaction import Row, Transaction, sql
from workers.adapters.postgres.turns import MAY_BE_SHOWN, SAID

SPOKEN_LOOKED_AT = 500

# Asked in the row that is read anyway. The newest bubbles of each conversation are looked at, whatever its length.
_VOCALS_TODAY = f"""(
  SELECT count(*) FROM conversations vc CROSS JOIN LATERAL (
    (SELECT k.kind, k.left_at FROM candidates k
     WHERE k.conversation_id = vc.id AND (k.state = 'sent' OR (k.state = 'failed' AND {MAY_BE_SHOWN}))
     ORDER BY k.id DESC LIMIT {SPOKEN_LOOKED_AT})
    UNION ALL
    SELECT vk.kind, clock_timestamp() FROM jobs vj JOIN candidates vk ON vk.job_id = vj.id
    WHERE vj.conversation_id = vc.id AND vj.kind <> 'delivery' AND vj.state IN {LIVE} AND vj.id <> j.id
      AND vk.state IN ('held', 'preparing', 'leaving')
  ) AS said
  WHERE vc.contact_id = ct.id AND said.kind = 'voice' AND said.left_at > clock_timestamp() - interval '24 hours'
)"""

# What the run said that was answered last. A draft that nobody saw is as if no rule had fired.
_RULES_BEFORE = """(
  SELECT p.rules FROM jobs p
  WHERE p.conversation_id = j.conversation_id AND p.id < j.id AND p.kind <> 'delivery' AND p.rules IS NOT NULL
    AND (p.state IN ('sent', 'silent')
         OR EXISTS (SELECT 1 FROM candidates pk WHERE pk.job_id = p.id AND pk.state = 'sent'))
  ORDER BY p.id DESC LIMIT 1
)"""

CONTACT = f"""ct.display_name, ct.locale, ct.timezone, ct.profile, ct.noticed_at, ct.cleared_at,
{_VOCALS_TODAY} AS vocals_today, {_RULES_BEFORE} AS rules_before, {media_seen.MEDIA}, {money_seen.MONEY},
{summaries.SUMMARIES}"""
"""Columns of the contact `ct` that `load` needs in its row, read beside the job `j`."""

SENT_KEPT = 200

_SENT = sql(f"""
SELECT k.text, k.kind, k.job_id, k.left_at FROM candidates k
WHERE k.conversation_id = :conversation AND {SAID} ORDER BY k.id DESC LIMIT {SENT_KEPT}
""")


async def load(tx: Transaction, conversation: Locked, look: Row, job: Job) -> Case:
    """`look` holds `CONTACT` and the job's `trigger` and `instruction`."""
    newest = await turns.newest(tx, conversation.id, most_kept(window_size(tx.settings.max_history_messages)))
    window = await summaries.of_window(tx, conversation, look, [row.position for row in newest])
    sent = await tx.all(_SENT, conversation=conversation.id)
    covered = await answered(tx, conversation)
    strategy = await tx.specs.strategy(tx.connection, conversation.org, conversation.strategy_version)
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
            look.cleared_at,
        ),
        conversation=conversation.id,
        conversation_name=conversation.name,
        job=job.id,
        trigger=Trigger(look.trigger),
        turns=tuple(turns.of_row(row, covered) for row in newest if row.position >= window.first),
        summary=window.summary,
        plan=conversation.plan,
        instruction=look.instruction,
        sent_texts=tuple(row.text for row in reversed(sent) if row.text and row.kind != BubbleKind.NOTICE),
        replies_last_minute=_recent_replies(sent, conversation),
        paused_until=conversation.paused_until,
        vocals_today=look.vocals_today,
        strategy=strategy,
        standing_rules=tuple(rule["rule"] for rule in look.rules_before or () if rule.get("standing")),
        money=money_seen.money(look, conversation.organization.spec.currency, tx.settings.fx),
        media=media_seen.history(look),
        follow_up=await followups.why(tx, conversation, job),
        effort=await efforts.seen(tx, conversation, job) if tx.settings.routing_dynamic else None,
    )


def _recent_replies(sent: Sequence[Row], conversation: Locked) -> int:
    """Replies, not bubbles, of which something left within the last minute."""
    since = conversation.now - timedelta(minutes=1)
    return len({row.job_id for row in sent if row.left_at is not None and row.left_at > since})
