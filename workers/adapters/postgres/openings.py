"""The first message of a conversation makes it, and its contact. Later ones bring the contact's facts up to date."""

import json
from typing import Any

from schemas.errors import Invalid
from schemas.http import ContactIn, MessageIn
from schemas.ids import OrgId
from workers.adapters.postgres.locks import Locked, lock_by_name
from workers.adapters.postgres.transaction import Row, Transaction, sql

_PERSONA = sql("SELECT id FROM personas WHERE org_id = :org AND name = :name")

_CONTACT = sql("""
INSERT INTO contacts (org_id, name, display_name, locale, timezone, profile)
VALUES (:org, :name, :display_name, :locale, :timezone, CAST(:profile AS jsonb))
ON CONFLICT (org_id, name) DO NOTHING
""")

_CONVERSATION = sql("""
INSERT INTO conversations (org_id, persona_id, contact_id, name)
SELECT :org, :persona, id, :name FROM contacts WHERE org_id = :org AND name = :contact
ON CONFLICT (org_id, name) DO NOTHING
""")

_MERGE = sql("""
UPDATE contacts
SET display_name = COALESCE(:display_name, display_name), locale = COALESCE(:locale, locale),
    timezone = COALESCE(:timezone, timezone), profile = profile || CAST(:profile AS jsonb)
WHERE id = :contact
""")


async def open_conversation(tx: Transaction, org: OrgId, message: MessageIn) -> Locked:
    """Made, or found when another made it meanwhile; locked. Raises Invalid naming `persona` or `contact`."""
    persona = await tx.one(_PERSONA, org=org, name=message.persona)
    if persona is None:
        raise _invalid("persona", f"there is no persona {message.persona!r}")
    if message.contact is None:
        raise _invalid("contact", "the first message of a conversation needs contact.id")
    await tx.run(_CONTACT, org=org, name=message.contact.id, **_facts(message.contact))
    await tx.run(_CONVERSATION, org=org, persona=persona.id, name=message.conversation, contact=message.contact.id)
    conversation = await lock_by_name(tx, org, message.conversation)
    if conversation is None:
        raise AssertionError("a conversation was made and is not there")
    return conversation


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
