"""Everything held about one contact, as of one moment.

The database writes the JSON: what a column is called is what it is called here, and a new column is in the export
without anybody thinking of it. Left out are what only the machinery reads (leases, fences, vectors, hashes) and the
numbers of the organisation and the contact.
"""

from typing import Any

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

from schemas.errors import NotFound
from schemas.ids import OrgId
from schemas.rights import ExportOut
from workers.adapters.postgres.views.snapshot import Snapshots

_OUTBOX = "'queue', 'due_at', 'dispatched_at', 'fence', 'lease_until', 'leased_by', 'crashes'"
PERSONA = "'persona_id'"
_WHOSE = "'org_id', 'contact_id', 'conversation_id'"


def _whole(row: str, *without: str) -> str:
    """SQL: a row as JSON, less what is named."""
    less = ", ".join([_WHOSE, *without])
    return f"to_jsonb({row}) - ARRAY[{less}]"


def _list(item: str, order: str, rows: str) -> str:
    return f"(SELECT coalesce(jsonb_agg({item} ORDER BY {order}), '[]') FROM {rows})"


_RUNS = _list(
    _whole("r", "'job_id'")
    + " || jsonb_build_object('steps', "
    + _list(_whole("s", "'run_id'"), "s.n", "run_steps s WHERE s.run_id = r.id")
    + ")",
    "r.id",
    "runs r WHERE r.job_id = j.id",
)
_JOBS = _list(
    _whole("j", _OUTBOX)
    + " || jsonb_build_object('bubbles', "
    + _list(_whole("k", "'job_id'"), "k.ordinal", "candidates k WHERE k.job_id = j.id")
    + ", 'events', "
    + _list(_whole("e", "'job_id'"), "e.id", "job_events e WHERE e.job_id = j.id")
    + ", 'dead_letters', "
    + _list(_whole("l", "'job_id'"), "l.id", "dead_letters l WHERE l.job_id = j.id")
    + ", 'webhooks', "
    + _list(
        _whole("d", _OUTBOX),
        "d.id",
        "candidates b JOIN deliveries d ON d.candidate_id = b.id WHERE b.job_id = j.id",
    )
    + f", 'runs', {_RUNS})",
    "j.id",
    "jobs j WHERE j.conversation_id = c.id",
)
_CONVERSATION = text(
    f"SELECT {_whole('c', PERSONA)} || jsonb_build_object('persona', p.name, 'messages', "
    + _list(_whole("m", "'body_hash'"), "m.position", "messages m WHERE m.conversation_id = c.id")
    + f", 'jobs', {_JOBS}, 'events', "
    + _list(_whole("d", _OUTBOX), "d.id", "deliveries d WHERE d.conversation_id = c.id AND d.candidate_id IS NULL")
    + ", 'media_shown', "
    + _list("i.name", "s.at", "shown_media s JOIN media_items i ON i.id = s.media_id WHERE s.conversation_id = c.id")
    + ", 'summaries', "
    + _list(_whole("u"), "u.until", "summaries u WHERE u.conversation_id = c.id")
    + ", 'chores', "
    + _list(_whole("w", _OUTBOX), "w.id", "chores w WHERE w.conversation_id = c.id")
    + ") AS found FROM conversations c JOIN personas p ON p.id = c.persona_id WHERE c.id = :conversation"
)
_CONTACT = text(
    f"SELECT ct.id, o.name AS organization, clock_timestamp() AS now, {_whole('ct')} - 'id' AS found "
    "FROM contacts ct JOIN organizations o ON o.id = ct.org_id WHERE ct.org_id = :org AND ct.name = :contact"
)
_CONVERSATIONS = text("SELECT id FROM conversations WHERE contact_id = :contact ORDER BY id")
_LEDGER = (
    "(SELECT l.* FROM conversations c JOIN jobs j ON j.conversation_id = c.id JOIN ledger l ON l.job_id = j.id "
    "WHERE c.contact_id = :contact UNION ALL SELECT l.* FROM conversations c JOIN ledger l ON l.conversation_id = c.id "
    "AND l.job_id IS NULL WHERE c.contact_id = :contact) AS l"
)
_LISTS = {
    "consents": _list(_whole("q"), "q.id", "consent_records q WHERE q.contact_id = :contact"),
    "documents": _list(_whole("d", "'hash'", "'persona_id'"), "d.id", "documents d WHERE d.contact_id = :contact"),
    "memories": _list(
        _whole("k", "'embedding'", "'words'", "'persona_id'"),
        "k.id",
        "chunks k WHERE k.org_id = :org AND k.contact_id = :contact AND k.message_id IS NOT NULL",
    ),
    "media": _list(
        _whole("f", "'persona_id'") + " || jsonb_build_object('name', i.name, 'url', i.url)",
        "f.id",
        "media_facts f JOIN media_items i ON i.id = f.media_id WHERE f.contact_id = :contact",
    ),
    "payments": _list(_whole("y", "'persona_id'"), "y.id", "payments y WHERE y.contact_id = :contact"),
    "model_calls": _list(_whole("l"), "l.at, l.call", _LEDGER),
}
_STATEMENTS = {name: text(f"SELECT {found} AS found") for name, found in _LISTS.items()}


class Exports:
    def __init__(self, snapshots: Snapshots) -> None:
        self._snapshots = snapshots

    async def of(self, org: OrgId, contact: str) -> ExportOut:
        """Raises NotFound."""
        async with self._snapshots.open(longer=True) as connection:
            who = (await connection.execute(_CONTACT, {"org": org, "contact": contact})).one_or_none()
            if who is None:
                raise NotFound("no such contact")
            bound = {"org": org, "contact": who.id}
            conversations = [
                await connection.scalar(_CONVERSATION, {"conversation": row.id})
                for row in await connection.execute(_CONVERSATIONS, bound)
            ]
            lists = {name: await _all(connection, name, bound) for name in _STATEMENTS}
        return ExportOut(
            exported_at=who.now,
            organization=who.organization,
            contact=who.found,
            conversations=conversations,
            **lists,
        )


async def _all(connection: AsyncConnection, name: str, bound: dict[str, Any]) -> list[dict[str, Any]]:
    used = {key: value for key, value in bound.items() if f":{key}" in _LISTS[name]}
    found: list[dict[str, Any]] = await connection.scalar(_STATEMENTS[name], used)
    return found
