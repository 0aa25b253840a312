"""Documents and their passages: written inside the transaction of a manifest, found again under the same name."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

from pipelines.memory.documents import config_of
from schemas.answers import Change
from schemas.documents import KnowledgeDocument
from schemas.errors import Invalid
from schemas.memory import Passage
from workers.adapters.postgres.audit import write_audit
from workers.adapters.postgres.subjects import locked_before
from workers.adapters.postgres.vectors import as_vector

EVERYONE = 0
"""In the place of a persona or a contact: whoever it is."""

KNOWN = text(
    "SELECT d.name, d.hash FROM documents d JOIN organizations o ON o.id = d.org_id "
    "WHERE o.name = :organization AND d.name = ANY(:names)"
)

_LOOK = text("SELECT id, hash FROM documents WHERE org_id = :org AND name = :name")
_PERSONA = text("SELECT id FROM personas WHERE org_id = :org AND name = :name")
_LOCALE = text("SELECT spec ->> 'locale' FROM organizations WHERE id = :org")
# A contact that is not known yet is made: it may write later. One that somebody makes at this moment is waited for.
_MEET = text(
    "INSERT INTO contacts (org_id, name, profile, locked_at) "
    f"SELECT :org, :name, '{{}}', {locked_before(':name')} ON CONFLICT (org_id, name) DO NOTHING"
)
# Whoever erases the contact meanwhile is waited for; then nobody has the name, and somebody new is met.
_CONTACT = text(
    "SELECT id, erased_at IS NOT NULL AS erased FROM contacts WHERE org_id = :org AND name = :name FOR KEY SHARE"
)

_NEW = text(
    "INSERT INTO documents (org_id, name, persona_id, contact_id, title, language, text, hash) "
    "VALUES (:org, :name, :persona, :contact, :title, :language, :text, :hash) RETURNING id"
)
_CHANGE = text(
    "UPDATE documents SET persona_id = :persona, contact_id = :contact, title = :title, language = :language, "
    "text = :text, hash = :hash, updated_at = clock_timestamp() WHERE org_id = :org AND name = :name RETURNING id"
)
_CUT_OUT = text("DELETE FROM chunks WHERE document_id = :document")
_PUT_IN = text(
    "INSERT INTO chunks (org_id, persona_id, contact_id, document_id, text, config, words, model, embedding) "
    "SELECT :org, :persona, :contact, :document, p.text, CAST(:config AS text), "
    "to_tsvector(CAST(CAST(:config AS text) AS regconfig), p.folded), :model, CAST(p.vector AS vector) "
    "FROM json_to_recordset(CAST(:passages AS json)) AS p (text text, folded text, vector text)"
)


class ChangedMeanwhile(Exception):
    """Somebody else changed a document between the look at what is known and the transaction: it must be prepared."""


@dataclass(frozen=True, slots=True)
class Ready:
    """A document's fingerprint, and its passages when it is not stored like that already."""

    hash: str
    passages: Sequence[Passage] | None


@dataclass(frozen=True, slots=True)
class Shelf:
    """The documents of one organisation, inside a transaction that has locked it. `model` made the vectors."""

    connection: AsyncConnection
    org: int
    who: str
    model: str

    async def put(self, document: KnowledgeDocument, ready: Ready, place: str) -> Change:
        """`place` leads to the document in the request. Raises Invalid, ChangedMeanwhile."""
        known = (await self.connection.execute(_LOOK, {"org": self.org, "name": document.name})).one_or_none()
        if known is not None and known.hash == ready.hash:
            return Change.UNCHANGED
        if ready.passages is None:
            raise ChangedMeanwhile
        language = document.language or await self.connection.scalar(_LOCALE, {"org": self.org})
        owner = {
            "org": self.org,
            "persona": await self._persona(document.persona, place),
            "contact": await self._contact(document.contact, place),
        }
        values = {"name": document.name, "title": document.title, "language": language, "text": document.text}
        statement = _NEW if known is None else _CHANGE
        number = await self.connection.scalar(statement, owner | values | {"hash": ready.hash})
        await self.connection.execute(_CUT_OUT, {"document": number})
        await self._passages(ready.passages, owner | {"document": number, "config": config_of(language)})
        change = Change.CREATED if known is None else Change.UPDATED
        facts = {"scope": document.scope.value, "passages": len(ready.passages)}
        await write_audit(self.connection, self.org, self.who, f"document.{change}", document.name, facts)
        return change

    async def _passages(self, passages: Sequence[Passage], owner: Mapping[str, object]) -> None:
        rows = [{"text": p.text, "folded": p.folded, "vector": as_vector(p.vector)} for p in passages]
        await self.connection.execute(_PUT_IN, {**owner, "model": self.model, "passages": json.dumps(rows)})

    async def _persona(self, name: str | None, place: str) -> int:
        if name is None:
            return EVERYONE
        found = await self.connection.scalar(_PERSONA, {"org": self.org, "name": name})
        if found is None:
            raise _invalid(f"{place}persona", f"there is no persona {name!r}")
        return int(found)

    async def _contact(self, name: str | None, place: str) -> int:
        if name is None:
            return EVERYONE
        whom = {"org": self.org, "name": name}
        found = None
        while found is None:
            await self.connection.execute(_MEET, whom)
            found = (await self.connection.execute(_CONTACT, whom)).one_or_none()
        if found.erased:
            raise _invalid(f"{place}contact", f"the contact {name!r} was erased: nothing about them is kept")
        return int(found.id)


def _invalid(field: str, message: str) -> Invalid:
    return Invalid(message, [{"field": field, "message": message}])
