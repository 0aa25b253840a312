"""Chores of kind `close_links`: what a safety lock has closed here is closed where it is paid.

Only Stripe is asked: the platform's own links are its own, and the test page asks us whether a payment is open. A
session ends by itself within a day, so the chore goes on until then, whatever Stripe answers.
"""

from schemas.ids import ConversationId
from schemas.jobs import CloseLinks
from schemas.payments import Closing, LinkFailed, PaymentProvider
from workers.adapters.postgres import chores
from workers.adapters.postgres.chores import AT_REST
from workers.adapters.postgres.locks import Locked, lock
from workers.adapters.postgres.transaction import Transaction, sql

MOST = 20
"""Links of one claim; the rest is the next one's."""

SOONEST, LONGEST = 15.0, 3600.0
"""Seconds to the next try: the first, and no later one is longer."""

WANTED = f"""closing AS (
  INSERT INTO chores (org_id, kind, conversation_id, queue, due_at)
  SELECT DISTINCT org_id, 'close_links', conversation_id, 'background', clock_timestamp() FROM links
  WHERE provider = '{PaymentProvider.STRIPE}' AND reference IS NOT NULL
  ON CONFLICT (conversation_id, kind) DO UPDATE
  SET due_at = excluded.due_at, tries = 0, crashes = 0, error = NULL, dispatched_at = NULL
)"""
"""Part of a statement in which `links` are payments that are closed now, or whose link came after they were."""

_LOOK = sql("""
SELECT w.id, w.fence, w.tries, w.crashes, w.lease_until IS NULL AND w.due_at <= clock_timestamp() AS due FROM chores w
WHERE w.id = :chore AND w.conversation_id = :conversation AND w.kind = 'close_links' FOR NO KEY UPDATE OF w
""")
_OPEN_THERE = f"""
FROM payments p
WHERE p.contact_id = :contact AND p.conversation_id = :conversation AND p.state = 'expired'
  AND p.provider = '{PaymentProvider.STRIPE}' AND p.reference IS NOT NULL AND p.expires_at > clock_timestamp()
"""
_SESSIONS = sql(f"SELECT p.reference {_OPEN_THERE} ORDER BY p.id DESC LIMIT :most")
_CLOSED = sql(f"""
UPDATE chores SET {AT_REST}, tries = 0, crashes = 0, error = NULL, due_at = (
  SELECT clock_timestamp() {_OPEN_THERE} AND p.reference <> ALL(:closed) LIMIT 1)
WHERE id = :chore AND fence = :fence
""")
_LATER = sql(f"""
UPDATE chores SET {AT_REST}, tries = tries + 1, crashes = 0, error = :error,
  due_at = clock_timestamp() + make_interval(secs => COALESCE(
    CAST(:asked AS double precision), LEAST({SOONEST} * 4.0 ^ LEAST(tries, 9), {LONGEST}) * (1 + :chance / 4.0)))
WHERE id = :chore AND fence = :fence
""")


async def claim(tx: Transaction, hint: CloseLinks) -> Closing | None:
    """None: nothing is open there any more, or not yet. It does not ask whether the lock is: what is closed here must
    not be paid for, whatever two people decide later."""
    conversation = await lock(tx, hint.conversation)
    look = await tx.one(_LOOK, chore=hint.chore, conversation=hint.conversation)
    if conversation is None or look is None:
        return None
    if not look.due:
        await chores.not_yet(tx, look.id)
        return None
    sessions = await _sessions(tx, conversation)
    if not sessions or look.crashes >= chores.MAX_CRASHES:
        why = f"its worker died {look.crashes} times" if sessions else None
        await chores.rest(tx, look.id, look.fence, why)
        return None
    # Each is asked about twice at most.
    lease = 2 * len(sessions) * tx.settings.payments.timeout_seconds + chores.SLACK_SECONDS
    fence = await chores.take(tx, look.id, look.fence, lease)
    return Closing(look.id, fence, ConversationId(conversation.id), conversation.org, sessions)


async def end(tx: Transaction, closing: Closing, failed: LinkFailed | None) -> None:
    """Guard: the fence."""
    conversation = await lock(tx, closing.conversation)
    if conversation is None:
        return
    row = {"chore": closing.chore, "fence": closing.fence}
    if failed is not None:
        await tx.run(_LATER, error=failed.sentence, asked=failed.retry_after, chance=tx.chance(), **row)
        return
    whose = {"contact": conversation.contact_id, "conversation": conversation.id}
    await tx.run(_CLOSED, closed=list(closing.sessions), **whose, **row)


async def _sessions(tx: Transaction, conversation: Locked) -> tuple[str, ...]:
    whose = {"contact": conversation.contact_id, "conversation": conversation.id}
    return tuple(row.reference for row in await tx.all(_SESSIONS, most=MOST, **whose))
