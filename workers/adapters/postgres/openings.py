"""The first message of a conversation makes it, and its contact. Later ones bring the contact's facts up to date."""

import json
from typing import Any

from schemas.errors import Invalid
from schemas.http import ContactIn, MessageIn
from schemas.ids import OrgId
from workers.adapters.postgres.locks import LOCKED, Locked, of_row
from workers.adapters.postgres.subjects import locked_before
from workers.adapters.postgres.transaction import Row, Transaction, sql

_PERSONA = sql("SELECT id FROM personas WHERE org_id = :org AND name = :name")

# One round trip for what a first message needs. A contact or a conversation that somebody makes at this moment is
# waited for and then left alone: a lock on the one, taken here while waiting for the other, could close a ring.
_OPEN = sql(f"""
WITH wanted AS (
  SELECT id FROM personas
  WHERE org_id = :org AND name = :persona
    AND NOT EXISTS (SELECT 1 FROM messages WHERE org_id = :org AND name = :message)
), known AS (
  SELECT id FROM contacts WHERE org_id = :org AND name = :contact
), met AS (
  INSERT INTO contacts (org_id, name, display_name, locale, timezone, profile, locked_at)
  SELECT :org, :contact, :display_name, :locale, :timezone, CAST(:profile AS jsonb), {locked_before(":contact")}
  FROM wanted
  WHERE NOT EXISTS (SELECT 1 FROM known)
  ON CONFLICT (org_id, name) DO NOTHING
  RETURNING id
), c AS (
  INSERT INTO conversations (org_id, persona_id, contact_id, name)
  SELECT :org, wanted.id, who.id, :name FROM wanted, (SELECT id FROM known UNION ALL SELECT id FROM met) AS who
  ON CONFLICT (org_id, name) DO NOTHING
  RETURNING *
)
SELECT {LOCKED}
FROM c
JOIN organizations o ON o.id = c.org_id
JOIN personas p ON p.id = c.persona_id
CROSS JOIN (SELECT CAST(:contact AS text) AS name) ct
""")

_MERGE = sql("""
UPDATE contacts
SET display_name = COALESCE(:display_name, display_name), locale = COALESCE(:locale, locale),
    timezone = COALESCE(:timezone, timezone), profile = profile || CAST(:profile AS jsonb)
WHERE id = :contact
""")


async def open_conversation(tx: Transaction, org: OrgId, message: MessageIn) -> Locked | None:
    """Made by this message, and so locked. None: it may not be (`refused`), or another message was quicker."""
    if message.contact is None:
        return None
    row = await tx.one(
        _OPEN,
        org=org,
        persona=message.persona,
        message=message.id,
        contact=message.contact.id,
        name=message.conversation,
        **_facts(message.contact),
    )
    return None if row is None else await of_row(tx, row)


async def may_be_opened(tx: Transaction, org: OrgId, message: MessageIn) -> bool:
    """Whether nothing but bad luck was in the way: two erasures, or an erasure and another message."""
    return message.contact is not None and await tx.one(_PERSONA, org=org, name=message.persona) is not None


async def refused(tx: Transaction, org: OrgId, message: MessageIn) -> Invalid:
    """Why nobody could open the conversation of this message: naming `persona` or `contact`."""
    if message.contact is not None or await tx.one(_PERSONA, org=org, name=message.persona) is None:
        return _invalid("persona", f"there is no persona {message.persona!r}")
    return _invalid("contact", "the first message of a conversation needs contact.id")


def changes(known: Row, contact: ContactIn) -> bool:
    """Whether the contact object says anything that is not stored yet."""
    fields = (contact.name, known.display_name), (contact.locale, known.locale), (contact.timezone, known.timezone)
    if any(said is not None and said != stored for said, stored in fields):
        return True
    return any(known.profile.get(key, ...) != value for key, value in (contact.profile or {}).items())


async def merge(tx: Transaction, conversation: Locked, contact: ContactIn) -> None:
    """Last wins, field by field; the profile key by key."""
    await tx.run(_MERGE, contact=conversation.contact_id, **_facts(contact))


def _facts(contact: ContactIn) -> dict[str, Any]:
    return {
        "display_name": contact.name,
        "locale": contact.locale,
        "timezone": contact.timezone,
        "profile": json.dumps(contact.profile or {}),
    }


def _invalid(field: str, sentence: str) -> Invalid:
    return Invalid(sentence, [{"field": field, "message": sentence}])
