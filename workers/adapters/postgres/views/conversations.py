"""A conversation as people read it: who handles it, what was said, what is on its way."""

from typing import Any

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

from schemas.answers import AttachmentOut, ConsentRecordOut, ContactOut, ConversationOut, MessageOut, Page
from schemas.conversation import HandledBy
from schemas.errors import Conflict, NotFound
from schemas.http import JobOut
from schemas.ids import OrgId, reference
from workers.adapters.postgres.views.jobs import Signer, Surroundings, audio_out, show_jobs
from workers.adapters.postgres.views.paging import before
from workers.adapters.postgres.views.snapshot import Snapshots
from workers.adapters.postgres.views.withdrawn import Withdrawn, withdrawn_from

_ONE = (
    "SELECT c.*, o.name AS organization, p.name AS persona, k.name AS contact, k.display_name, k.locale, k.timezone, "
    "k.profile, k.opted_out_at, k.locked_at, "
    "COALESCE((SELECT a.state = 'failed' AND a.attention = 'open' AND a.inbound_seq > c.operator_seq FROM jobs a "
    "WHERE a.conversation_id = c.id AND a.kind <> 'delivery' ORDER BY a.id DESC LIMIT 1), false) AS asked "
    "FROM organizations o "
    "JOIN conversations c ON c.org_id = o.id AND c.name = :name "
    "JOIN personas p ON p.id = c.persona_id JOIN contacts k ON k.id = c.contact_id "
)
_OWN = text(_ONE + "WHERE o.id = :org")
_ANY = text(_ONE + "ORDER BY c.id LIMIT 20")
_LIVE = text(
    "SELECT j.*, CAST(:organization AS text) AS organization, CAST(:conversation AS text) AS conversation FROM jobs j "
    "WHERE j.conversation_id = :id AND j.kind <> 'delivery' AND j.state IN ('queued', 'running', 'held', 'sending')"
)
_MESSAGES = text(
    "SELECT m.*, b.state, b.audio FROM messages m LEFT JOIN candidates b ON b.id = m.candidate_id "
    "WHERE m.conversation_id = :id AND m.deleted_at IS NULL AND m.position < :before "
    "ORDER BY m.position DESC LIMIT :limit"
)


_CONSENTS = text(
    "SELECT r.at, r.act, r.who, r.rule, r.reason, r.message, r.job_id, rc.name AS conversation "
    "FROM conversations c JOIN consent_records r ON r.contact_id = c.contact_id "
    "JOIN conversations rc ON rc.id = r.conversation_id WHERE c.id = :id ORDER BY r.id"
)


class Conversations:
    def __init__(self, snapshots: Snapshots, signer: Signer, simulated: bool = False) -> None:
        self._snapshots = snapshots
        self._signer = signer
        self._simulated = simulated

    async def one(self, org: OrgId | None, name: str, cursor: str | None, limit: int) -> ConversationOut:
        """The newest `limit` messages, in order. Raises NotFound; Conflict when no organisation is given and several
        have a conversation of that name."""
        around = Surroundings(self._simulated, await self._signer())
        async with self._snapshots.open() as connection:
            row = await _find(connection, org, name)
            job = await _live_job(connection, row, around)
            below = min(before("msg", cursor), 2**31 - 1)
            bound = {"id": row.id, "before": below, "limit": limit + 1}
            messages = (await connection.execute(_MESSAGES, bound)).all()
        following = reference("msg", messages[limit - 1].position) if len(messages) > limit else None
        return _shown(row, job, [_message(message, around) for message in reversed(messages[:limit])], following)

    async def withdrawn(self, org: OrgId | None, name: str) -> list[Withdrawn]:
        """What was drafted and never said, the newest first. Raises NotFound, Conflict as `one` does."""
        around = Surroundings(self._simulated, await self._signer())
        async with self._snapshots.open() as connection:
            row = await _find(connection, org, name)
            return await withdrawn_from(connection, OrgId(row.org_id), row.id, around)

    async def consents(self, org: OrgId | None, name: str) -> Page[ConsentRecordOut]:
        """All of the contact's, whichever conversation they were given in. Raises NotFound, Conflict as `one` does."""
        async with self._snapshots.open() as connection:
            row = await _find(connection, org, name)
            records = (await connection.execute(_CONSENTS, {"id": row.id})).all()
        return Page[ConsentRecordOut](items=[_consent(record) for record in records])


async def _find(connection: AsyncConnection, org: OrgId | None, name: str) -> Any:
    if org is not None:
        rows = (await connection.execute(_OWN, {"org": org, "name": name})).all()
    else:
        rows = (await connection.execute(_ANY, {"name": name})).all()
    if not rows:
        raise NotFound("no such conversation")
    if len(rows) > 1:
        several = [row.organization for row in rows]
        raise Conflict("several organisations have a conversation of that name", organizations=several)
    return rows[0]


async def _live_job(connection: AsyncConnection, conversation: Any, around: Surroundings) -> JobOut | None:
    bound = {
        "id": conversation.id,
        "organization": conversation.organization,
        "conversation": conversation.name,
    }
    rows = (await connection.execute(_LIVE, bound)).all()
    shown = await show_jobs(connection, rows, around) if rows else [None]
    return shown[0]


def _shown(row: Any, job: JobOut | None, messages: list[MessageOut], following: str | None) -> ConversationOut:
    contact = ContactOut(
        id=row.contact,
        name=row.display_name,
        locale=row.locale,
        timezone=row.timezone,
        profile=row.profile,
        opted_out_at=row.opted_out_at,
        locked_at=row.locked_at,
    )
    # A person is asked: their word moves what is held, or their own words answer what failed.
    waits = row.handled_by == HandledBy.AI and (row.asked or (job is not None and job.on_hold))
    return ConversationOut(
        id=row.name,
        organization=row.organization,
        persona=row.persona,
        contact=contact,
        handled_by=HandledBy.WAITING if waits else HandledBy(row.handled_by),
        by=row.handled_by_who,
        handled_at=row.handled_at,
        plan=row.plan,
        paused_until=row.paused_until,
        follow_up_at=row.follow_up_at,
        job=job,
        messages=messages,
        next=following,
    )


def _message(row: Any, around: Surroundings) -> MessageOut:
    return MessageOut(
        id=row.name or reference("msg", row.id),
        author=row.author,
        kind=row.kind,
        text=row.text,
        attachments=[AttachmentOut(type=item["type"], url=item["url"]) for item in row.attachments or []],
        audio=audio_out(row.audio, around.sign),
        position=row.position,
        sent_at=row.sent_at,
        created_at=row.created_at,
        edited_at=row.edited_at,
        candidate=None if row.candidate_id is None else reference("bub", row.candidate_id),
        job=None if row.job_id is None else reference("job", row.job_id),
        state=row.state,
        reason=row.reason,
    )


def _consent(row: Any) -> ConsentRecordOut:
    return ConsentRecordOut(
        at=row.at,
        act=row.act,
        who=row.who,
        rule=row.rule,
        reason=row.reason,
        conversation=row.conversation,
        message=row.message,
        job=None if row.job_id is None else reference("job", row.job_id),
    )
