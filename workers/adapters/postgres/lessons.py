"""Chores of kind `learn`: a conversation has come to rest, and what its contact told is to be remembered.

The row waits since the contact's first message after the last lesson, and is looked at when that is `idle_seconds`
ago: later messages do not touch it, so that a busy conversation costs one look in that time and no write a message.
"""

import json
from collections.abc import Mapping
from typing import Any

from pipelines.memory.documents import config_of
from pipelines.memory.switch import may_recall
from schemas.ids import MessageId
from schemas.jobs import Learn
from schemas.lessons import Heard, Learnt, Lesson, NotLearnt
from schemas.memory import Asker
from workers.adapters.postgres import chores
from workers.adapters.postgres.chores import AT_REST
from workers.adapters.postgres.locks import CONTACT_FLAGS, Locked, lock
from workers.adapters.postgres.transaction import Row, Transaction, sql
from workers.adapters.postgres.vectors import as_vector

MOST_HEARD = 60
"""Messages of one lesson; the rest is the next one's."""
LOOKED_AT = 500
KNOWN_SHOWN = 50
SAME = 0.05
"""A cosine distance below which two facts are one, when their numbers are equal too."""

WANTED = """wanted AS (
  INSERT INTO chores AS w (org_id, kind, conversation_id, queue, due_at)
  SELECT :org, 'learn', :conversation, 'background', clock_timestamp() + make_interval(secs => :idle)
  WHERE :learns AND NOT EXISTS (
    SELECT 1 FROM chores o WHERE o.conversation_id = :conversation AND o.kind = 'learn'
      AND (o.due_at IS NOT NULL OR o.lease_until IS NOT NULL))
  ON CONFLICT (conversation_id, kind) DO UPDATE
  SET due_at = excluded.due_at, tries = 0, crashes = 0, error = NULL, dispatched_at = NULL, fence = w.fence + 1
  WHERE w.due_at IS NULL AND w.lease_until IS NULL
)"""
"""Part of the statement that stores what a contact wrote; binds `org`, `conversation`, `idle` and `learns`."""

FORGOTTEN = "forgotten AS (DELETE FROM chunks WHERE message_id = :message)"
"""Part of the statement that changes a message: what was learned from it goes with it."""

_LOOK = sql(f"""
SELECT w.id, w.fence, w.tries, w.crashes, w.lease_until IS NULL AND w.due_at <= clock_timestamp() AS due,
       c.learned_until, c.last_inbound_at + make_interval(secs => :idle) > clock_timestamp() AS busy, {CONTACT_FLAGS}
FROM chores w JOIN conversations c ON c.id = w.conversation_id JOIN contacts ct ON ct.id = c.contact_id
WHERE w.id = :chore AND w.conversation_id = :conversation AND w.kind = 'learn'
FOR NO KEY UPDATE OF w
""")
_WHEN_IDLE = sql(f"""
UPDATE chores w SET {AT_REST}, due_at = c.last_inbound_at + make_interval(secs => :idle)
FROM conversations c WHERE w.id = :chore AND w.fence = :fence AND c.id = w.conversation_id
""")
_HEARD = sql(f"""
SELECT id, text, coalesce(edited_at, created_at) AS at FROM messages
WHERE conversation_id = :conversation AND position > :last - {LOOKED_AT} AND author = 'contact' AND deleted_at IS NULL
  AND text ~ '\\S' AND coalesce(edited_at, created_at) > coalesce(CAST(:since AS timestamptz), '-infinity')
ORDER BY at, id LIMIT {MOST_HEARD}
""")
_KNOWN = sql(f"""
SELECT text FROM chunks
WHERE org_id = :org AND contact_id = :contact AND persona_id = :persona AND message_id IS NOT NULL
ORDER BY id DESC LIMIT {KNOWN_SHOWN}
""")
# A message that was changed or deleted since it was read is no source, and what is known is not kept twice. The model
# of the vectors takes numbers for equal, so they are compared as text.
_REMEMBER = sql(f"""
INSERT INTO chunks (org_id, persona_id, contact_id, message_id, said_at, text, config, words, model, embedding)
SELECT :org, :persona, :contact, m.id, m.created_at, f.text, CAST(:config AS text),
       to_tsvector(CAST(CAST(:config AS text) AS regconfig), f.folded), :model, CAST(f.vector AS vector)
FROM json_to_recordset(CAST(:facts AS json)) AS f (message bigint, at timestamptz, text text, folded text, vector text)
JOIN messages m ON m.id = f.message AND m.conversation_id = :conversation AND m.deleted_at IS NULL
               AND coalesce(m.edited_at, m.created_at) = f.at
WHERE NOT EXISTS (
  SELECT 1 FROM chunks k
  WHERE k.org_id = :org AND k.contact_id = :contact AND k.persona_id = :persona AND k.message_id IS NOT NULL
    AND (k.text = f.text OR (k.model = :model AND k.embedding <=> CAST(f.vector AS vector) < {SAME}
         AND regexp_replace(k.text, '[^0-9]+', ' ', 'g') = regexp_replace(f.text, '[^0-9]+', ' ', 'g'))))
""")
_LEARNED = sql(f"""
WITH read AS (
  UPDATE conversations SET learned_until = CAST(:until AS timestamptz) WHERE id = :conversation
)
UPDATE chores SET {AT_REST}, tries = 0, crashes = 0, error = NULL,
  due_at = (SELECT CASE WHEN :full THEN clock_timestamp() ELSE max(coalesce(m.edited_at, m.created_at))
                        + make_interval(secs => :idle) END
            FROM messages m WHERE m.conversation_id = :conversation AND m.position > :last - {LOOKED_AT}
              AND m.author = 'contact' AND m.deleted_at IS NULL AND m.text ~ '\\S'
              AND coalesce(m.edited_at, m.created_at) > CAST(:until AS timestamptz)
            HAVING count(*) > 0)
WHERE id = :chore AND fence = :fence
""")


def wanted(tx: Transaction, conversation: Locked, from_contact: bool) -> Mapping[str, Any]:
    """The values of `WANTED`, besides `org` and `conversation`."""
    return {"idle": tx.settings.memory.idle_seconds, "learns": from_contact and _learns(tx, conversation)}


def _learns(tx: Transaction, conversation: Locked) -> bool:
    flags = conversation.organization.spec.flags
    return tx.settings.memory.learn and may_recall(flags.ai_rag_enabled, tx.settings.rag_global_enabled)


async def claim(tx: Transaction, hint: Learn) -> Lesson | None:
    """None: there is nothing to learn, or not yet."""
    conversation = await lock(tx, hint.conversation)
    if conversation is None:
        return None
    idle = tx.settings.memory.idle_seconds
    look = await tx.one(_LOOK, chore=hint.chore, conversation=conversation.id, idle=idle)
    if look is None:
        return None
    row = {"chore": look.id, "fence": look.fence}
    if not look.due:
        await chores.not_yet(tx, look.id)
        return None
    await chores.unheard(tx, look.id, look.fence)
    if look.busy:
        await tx.run(_WHEN_IDLE, idle=idle, **row)
        return None
    if (why := _closed(tx, conversation, look)) is not None:
        await chores.rest(tx, look.id, look.fence, why)
        return None
    return await _take(tx, conversation, look)


def _closed(tx: Transaction, conversation: Locked, look: Row) -> str | None:
    """Nothing is learned from whom we may not write to, nor where nobody could look it up."""
    if chores.closed(look):
        return chores.CLOSED
    if look.crashes >= chores.MAX_CRASHES:
        return f"its worker died {look.crashes} times"
    return None if _learns(tx, conversation) else "nothing is looked up in this organisation"


async def _take(tx: Transaction, conversation: Locked, look: Row) -> Lesson | None:
    heard = await tx.all(
        _HEARD, conversation=conversation.id, last=conversation.last_position, since=look.learned_until
    )
    if not heard:
        await chores.rest(tx, look.id, look.fence)
        return None
    asker = Asker(conversation.org, conversation.persona.id, conversation.contact_id)
    known = await tx.all(_KNOWN, org=asker.org, persona=asker.persona, contact=asker.contact)
    fence = await chores.take(tx, look.id, look.fence)
    spec, persona = conversation.organization.spec, conversation.persona.spec
    return Lesson(
        chore=look.id,
        fence=fence,
        conversation=conversation.id,
        asker=asker,
        organization=spec,
        pipeline=persona.pipeline or spec.pipeline,
        language=persona.language or spec.locale,
        heard=tuple(Heard(MessageId(item.id), item.text, item.at) for item in heard),
        known=tuple(item.text for item in known),
        tries=look.tries,
    )


async def end(tx: Transaction, lesson: Lesson, learnt: Learnt | NotLearnt | None) -> int:
    """Answers how many facts are new."""
    if isinstance(learnt, Learnt):
        return await _keep(tx, lesson, learnt)
    if learnt is None:
        await chores.give_back(tx, lesson)
    else:
        await chores.postpone(tx, lesson, learnt)
    return 0


async def _keep(tx: Transaction, lesson: Lesson, learnt: Learnt) -> int:
    """What was paid is kept whoever has the row by now."""
    conversation = await lock(tx, lesson.conversation)
    await chores.pay(tx, lesson, learnt.call)
    ours = await chores.still_ours(tx, lesson)
    if conversation is None or ours is None:
        return 0
    if chores.closed(ours):
        await chores.rest(tx, lesson.chore, lesson.fence, chores.CLOSED)
        return 0
    new = await _remember(tx, lesson, learnt) if learnt.facts else 0
    await tx.run(
        _LEARNED,
        chore=lesson.chore,
        fence=lesson.fence,
        conversation=lesson.conversation,
        until=lesson.heard[-1].at,
        full=len(lesson.heard) == MOST_HEARD,
        last=conversation.last_position,
        idle=tx.settings.memory.idle_seconds,
    )
    return new


async def _remember(tx: Transaction, lesson: Lesson, learnt: Learnt) -> int:
    facts = [
        {
            "message": fact.source.message,
            "at": fact.source.at.isoformat(),
            "text": fact.passage.text,
            "folded": fact.passage.folded,
            "vector": as_vector(fact.passage.vector),
        }
        for fact in learnt.facts
    ]
    return await tx.run(
        _REMEMBER,
        org=lesson.asker.org,
        persona=lesson.asker.persona,
        contact=lesson.asker.contact,
        conversation=lesson.conversation,
        config=config_of(lesson.language),
        model=learnt.model,
        facts=json.dumps(facts),
    )
