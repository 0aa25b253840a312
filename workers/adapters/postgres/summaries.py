"""Chores of kind `summarize`: what the next step of a window will cut is summed up before it is cut.

A summary is written once and stays as it is: a prompt begins with it, and other bytes there would lose the cache of all
that follows. So it enters a prompt only together with a step of the window. One that came late waits for the next.
"""

from dataclasses import dataclass

from pipelines.memory.window import first_kept, most_kept, window_size
from schemas.jobs import Summarize
from schemas.lessons import NotLearnt
from schemas.summaries import Folding, Summed
from workers.adapters.postgres import chores, turns
from workers.adapters.postgres.locks import CONTACT_FLAGS, Locked, lock
from workers.adapters.postgres.transaction import Row, Transaction, sql

SUMMARIES = """(
  SELECT json_agg(json_build_object('until', s.until, 'usable_from', s.usable_from, 'text', s.text) ORDER BY s.until)
  FROM summaries s WHERE s.conversation_id = j.conversation_id
) AS summaries"""
"""Column beside the job `j` that `of_window` reads."""

FORGOTTEN = """unsummed AS (
  DELETE FROM summaries s USING messages m
  WHERE m.id = :message AND s.conversation_id = m.conversation_id AND s.until > m.position
)"""
"""Part of the statement that changes a message: a summary that it went into goes with it."""

_WANT = sql("""
INSERT INTO chores AS w (org_id, kind, conversation_id, queue, due_at)
VALUES (:org, 'summarize', :conversation, 'background', clock_timestamp())
ON CONFLICT (conversation_id, kind) DO UPDATE
SET due_at = excluded.due_at, tries = 0, crashes = 0, error = NULL, dispatched_at = NULL, fence = w.fence + 1
WHERE w.due_at IS NULL AND w.lease_until IS NULL
""")
_LOOK = sql(f"""
SELECT w.id, w.fence, w.tries, w.crashes, w.lease_until IS NULL AND w.due_at <= clock_timestamp() AS due,
       {CONTACT_FLAGS}
FROM chores w JOIN conversations c ON c.id = w.conversation_id JOIN contacts ct ON ct.id = c.contact_id
WHERE w.id = :chore AND w.conversation_id = :conversation AND w.kind = 'summarize'
FOR NO KEY UPDATE OF w
""")
_KNOWN = sql("SELECT until, text FROM summaries WHERE conversation_id = :conversation ORDER BY until DESC LIMIT 1")
# Whatever went into it is as it was read: no message was changed or deleted since, and the summary it goes on from is
# still there. Of the older ones, that which a prompt begins with by now is kept.
_KEEP = sql("""
WITH kept AS (
  INSERT INTO summaries (conversation_id, until, usable_from, text)
  SELECT :conversation, :until, :usable_from, :text
  WHERE NOT EXISTS (
      SELECT 1 FROM messages m WHERE m.conversation_id = :conversation AND m.position < :until
        AND m.position >= :before AND greatest(m.edited_at, m.deleted_at) > CAST(:read_at AS timestamptz))
    AND (:before = 0 OR EXISTS (
      SELECT 1 FROM summaries s WHERE s.conversation_id = :conversation AND s.until = :before))
  ON CONFLICT DO NOTHING
)
DELETE FROM summaries s WHERE s.conversation_id = :conversation AND s.until < (
  SELECT max(u.until) FROM summaries u WHERE u.conversation_id = :conversation AND u.usable_from <= :first)
""")


@dataclass(frozen=True, slots=True)
class Window:
    """`first` is the position where it begins, `summary` what a prompt says of the time before."""

    first: int
    summary: str | None


async def of_window(tx: Transaction, conversation: Locked, look: Row, shown: list[int]) -> Window:
    """`look` holds `SUMMARIES`, `shown` are the positions of the newest messages. When the window has grown to half of
    what it may grow, a summary of what the next step cuts is asked for: one statement, once a step."""
    size = window_size(tx.settings.max_history_messages)
    first = first_kept(shown, size)
    usable = [each for each in look.summaries or () if each["usable_from"] <= first]
    reached = max((each["until"] for each in look.summaries or ()), default=0)
    inside = sum(1 for position in shown if position >= first)
    if tx.settings.memory.summarize and inside > size + size // 2 and reached < first + size:
        await tx.run(_WANT, org=conversation.org, conversation=conversation.id)
    return Window(first, usable[-1]["text"] if usable else None)


async def claim(tx: Transaction, hint: Summarize) -> Folding | None:
    """None: there is nothing to sum up, or not yet."""
    conversation = await lock(tx, hint.conversation)
    if conversation is None:
        return None
    look = await tx.one(_LOOK, chore=hint.chore, conversation=conversation.id)
    if look is None:
        return None
    if not look.due:
        await chores.not_yet(tx, look.id)
        return None
    await chores.unheard(tx, look.id, look.fence)
    if (why := _closed(look)) is not None:
        await chores.rest(tx, look.id, look.fence, why)
        return None
    return await _take(tx, conversation, look)


def _closed(look: Row) -> str | None:
    if chores.closed(look):
        return chores.CLOSED
    return f"its worker died {look.crashes} times" if look.crashes >= chores.MAX_CRASHES else None


async def _take(tx: Transaction, conversation: Locked, look: Row) -> Folding | None:
    size = window_size(tx.settings.max_history_messages)
    newest = await turns.newest(tx, conversation.id, 2 * most_kept(size))
    until = first_kept([row.position for row in newest], size) + size
    known = await tx.one(_KNOWN, conversation=conversation.id)
    before = 0 if known is None else known.until
    folded = [turns.of_row(row, covered=None) for row in newest if before <= row.position < until]
    if not folded or before >= until:
        await chores.rest(tx, look.id, look.fence)
        return None
    fence = await chores.take(tx, look.id, look.fence)
    spec, persona = conversation.organization.spec, conversation.persona.spec
    return Folding(
        chore=look.id,
        fence=fence,
        conversation=conversation.id,
        org=conversation.org,
        organization=spec,
        pipeline=persona.pipeline or spec.pipeline,
        until=until,
        turns=tuple(folded),
        read_at=conversation.now,
        known=None if known is None else known.text,
        before=before,
        tries=look.tries,
    )


async def end(tx: Transaction, folding: Folding, summed: Summed | NotLearnt | None) -> None:
    if isinstance(summed, Summed):
        await _keep(tx, folding, summed)
    elif summed is None:
        await chores.give_back(tx, folding)
    else:
        await chores.postpone(tx, folding, summed)


async def _keep(tx: Transaction, folding: Folding, summed: Summed) -> None:
    """What was paid is kept whoever has the row by now."""
    conversation = await lock(tx, folding.conversation)
    await chores.pay(tx, folding, summed.call)
    ours = await chores.still_ours(tx, folding)
    if conversation is None or ours is None:
        return
    if chores.closed(ours):
        await chores.rest(tx, folding.chore, folding.fence, chores.CLOSED)
        return
    size = window_size(tx.settings.max_history_messages)
    newest = await turns.newest(tx, conversation.id, most_kept(size))
    first = first_kept([row.position for row in newest], size)
    await tx.run(
        _KEEP,
        conversation=conversation.id,
        until=folding.until,
        usable_from=folding.until if first < folding.until else first + 1,
        text=summed.text,
        before=folding.before,
        read_at=folding.read_at.isoformat(),
        first=first,
    )
    await chores.rest(tx, folding.chore, folding.fence)
