"""What an operator has on the desk: replies that wait or leave, and jobs that need a person, each with its talk."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

from schemas.http import JobOut
from schemas.ids import JobId, OrgId, number_of
from workers.adapters.postgres.views.jobs import Signer, Surroundings, show_jobs
from workers.adapters.postgres.views.snapshot import Snapshots

MOST = 200
_LINES = 4

_SHOWN = (
    "SELECT j.*, o.name AS organization, c.name AS conversation, p.name AS persona, "
    "COALESCE(NULLIF(p.spec ->> 'display_name', ''), p.name) AS persona_name, k.name AS contact, "
    "COALESCE(NULLIF(k.display_name, ''), k.name) AS contact_name, extract(epoch FROM j.rest) AS rest_seconds "
    "FROM jobs j JOIN conversations c ON c.id = j.conversation_id JOIN organizations o ON o.id = j.org_id "
    "JOIN personas p ON p.id = c.persona_id JOIN contacts k ON k.id = c.contact_id "
)
_OPEN = "j.org_id = :org AND j.state IN ('held', 'sending')"
_WINDOW = text(_SHOWN + f"WHERE {_OPEN} ORDER BY j.due_at NULLS LAST, j.id LIMIT {MOST}")
_SOME = text(_SHOWN + f"WHERE {_OPEN} AND j.id = ANY(:ids) ORDER BY j.due_at NULLS LAST, j.id LIMIT {MOST}")
_ONE = text(_SHOWN + "WHERE j.org_id = :org AND j.id = :id")
_ATTENTION = text(_SHOWN + f"WHERE j.org_id = :org AND j.attention = 'open' ORDER BY j.id DESC LIMIT {MOST}")
_TALK = text(
    "SELECT w.id AS conversation_id, m.author, m.kind, m.text, m.created_at, m.attachments "
    "FROM unnest(CAST(:ids AS bigint[])) AS w (id) CROSS JOIN LATERAL (SELECT * FROM messages t "
    "WHERE t.conversation_id = w.id AND t.deleted_at IS NULL AND t.author <> 'system' "
    f"ORDER BY t.position DESC LIMIT {_LINES}) m ORDER BY w.id, m.position"
)
_COUNTS = text(
    "SELECT (SELECT count(*) FROM jobs WHERE org_id = :org AND state IN ('held', 'sending')) AS window, "
    "(SELECT count(*) FROM jobs WHERE org_id = :org AND attention = 'open') AS attention, "
    "(SELECT count(*) FROM dead_letters WHERE org_id = :org AND state = 'open') AS letters"
)


@dataclass(frozen=True, slots=True)
class Line:
    """A message as it is shown beside a reply."""

    author: str
    kind: str
    text: str
    at: datetime
    attachments: Sequence[dict[str, Any]]


@dataclass(frozen=True, slots=True)
class OnDesk:
    """`rest`: seconds left of a countdown on hold. `persona` and `contact` are upstream names, the other two what
    people call them."""

    job: JobOut
    rest: float | None
    persona: str
    persona_name: str
    contact: str
    contact_name: str
    talk: Sequence[Line]


@dataclass(frozen=True, slots=True)
class Counts:
    window: int
    attention: int
    letters: int


class Desk:
    def __init__(self, snapshots: Snapshots, signer: Signer, simulated: bool = False) -> None:
        self._snapshots = snapshots
        self._signer = signer
        self._simulated = simulated

    async def window(self, org: OrgId) -> list[OnDesk]:
        """Held and leaving replies, the next to leave first; at most `MOST`."""
        return await self._read(_WINDOW, org=org)

    async def some(self, org: OrgId, jobs: Sequence[str]) -> list[OnDesk]:
        """Those of these jobs (`job_42`) that are in the window now."""
        numbers = [number for job in jobs if (number := number_of("job", job)) is not None]
        return await self._read(_SOME, org=org, ids=numbers) if numbers else []

    async def one(self, org: OrgId, job: JobId) -> OnDesk | None:
        """Whatever state it is in."""
        found = await self._read(_ONE, org=org, id=job)
        return found[0] if found else None

    async def attention(self, org: OrgId) -> list[OnDesk]:
        """What a person must look at, newest first; at most `MOST`."""
        return await self._read(_ATTENTION, org=org)

    async def counts(self, org: OrgId) -> Counts:
        async with self._snapshots.open() as connection:
            row = (await connection.execute(_COUNTS, {"org": org})).one()
        return Counts(row.window, row.attention, row.letters)

    async def _read(self, statement: Any, **values: Any) -> list[OnDesk]:
        around = Surroundings(self._simulated, await self._signer())
        async with self._snapshots.open() as connection:
            rows = (await connection.execute(statement, values)).all()
            if not rows:
                return []
            jobs = await show_jobs(connection, rows, around)
            talk = await _talk(connection, [row.conversation_id for row in rows])
        return [_on_desk(row, job, talk[row.conversation_id]) for row, job in zip(rows, jobs, strict=True)]


async def _talk(connection: AsyncConnection, conversations: Sequence[int]) -> dict[int, list[Line]]:
    found: dict[int, list[Line]] = defaultdict(list)
    for row in await connection.execute(_TALK, {"ids": sorted(set(conversations))}):
        line = Line(row.author, row.kind, row.text, row.created_at, row.attachments or [])
        found[row.conversation_id].append(line)
    return found


def _on_desk(row: Any, job: JobOut, talk: Sequence[Line]) -> OnDesk:
    rest = None if row.rest_seconds is None else float(row.rest_seconds)
    return OnDesk(job, rest, row.persona, row.persona_name, row.contact, row.contact_name, talk)
