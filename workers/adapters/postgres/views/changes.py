"""What has happened since somebody looked last: for pages that show it without being reloaded."""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

from sqlalchemy import text

from schemas.ids import OrgId, reference
from workers.adapters.postgres.database import Database

SETTLED_SECONDS = 15.0
"""Ids are given before the commit: a row may appear below one that was seen already, for as long as this."""

RECENT_SECONDS = 15.0
"""Between the making of a page and its first question what is new, as long as this may pass."""

_MOST = 5000
_SINCE = text(f"""
(SELECT 'event' AS source, id, org_id, job_id, conversation_id, NULL AS name
 FROM job_events WHERE id > :event ORDER BY id LIMIT {_MOST})
UNION ALL
(SELECT 'message', id, org_id, NULL, conversation_id, NULL FROM messages WHERE id > :message ORDER BY id LIMIT {_MOST})
UNION ALL
(SELECT 'audit', id, org_id, NULL, NULL, subject FROM audit_log WHERE id > :audit ORDER BY id LIMIT {_MOST})
""")


def _floor(table: str, at: str) -> str:
    """What is above it is recent, or the newest few hundred."""
    newest = f"(SELECT id, {at} AS at FROM {table} ORDER BY id DESC LIMIT 500) AS n"
    recent = f"(SELECT min(id) - 1 FROM {newest} WHERE n.at > clock_timestamp() - make_interval(secs => :recent))"
    return f"coalesce({recent}, (SELECT max(id) FROM {table}), 0)"


_NEWEST = text(
    f"SELECT {_floor('job_events', 'at')} AS event, {_floor('messages', 'created_at')} AS message, "
    f"{_floor('audit_log', 'at')} AS audit"
)


@dataclass(slots=True)
class Changed:
    """Of one organisation: jobs by reference, conversations by row id, and subjects of the audit log."""

    jobs: set[str] = field(default_factory=set)
    conversations: set[int] = field(default_factory=set)
    names: set[str] = field(default_factory=set)

    def add(self, other: "Changed") -> None:
        self.jobs |= other.jobs
        self.conversations |= other.conversations
        self.names |= other.names


@dataclass(slots=True)
class _Source:
    """How far one table was read: all up to `floor`, and `seen` above it."""

    floor: int = 0
    seen: set[int] = field(default_factory=set)
    marks: deque[tuple[float, int]] = field(default_factory=deque)

    def take(self, id: int) -> bool:
        """Whether it is new."""
        if id in self.seen:
            return False
        self.seen.add(id)
        return True

    def settle(self, now: float) -> None:
        if self.seen:
            self.marks.append((now, max(self.seen)))
        while self.marks and self.marks[0][0] <= now - SETTLED_SECONDS:
            self.floor = max(self.floor, self.marks.popleft()[1])
        self.seen = {id for id in self.seen if id > self.floor}


class Changes:
    """One reader's place in what happens. `now` answers monotonic seconds."""

    def __init__(self, database: Database, now: Callable[[], float]) -> None:
        self._db = database
        self._now = now
        self._sources: dict[str, _Source] | None = None

    def forget(self) -> None:
        """Begin anew."""
        self._sources = None

    async def since(self) -> dict[OrgId, Changed]:
        """What was committed since the last call, by organisation; the first time, what is no older than a page that
        has just been made. Raises `Unavailable`."""
        if self._sources is None:
            self._sources = await self._begin()
        bound = {source: place.floor for source, place in self._sources.items()}
        async with self._db.statement() as connection:
            rows = (await connection.execute(_SINCE, bound)).all()
        found: dict[OrgId, Changed] = {}
        for row in rows:
            if row.org_id is None or not self._sources[row.source].take(row.id):
                continue
            changed = found.setdefault(OrgId(row.org_id), Changed())
            if row.job_id is not None:
                changed.jobs.add(reference("job", row.job_id))
            if row.conversation_id is not None:
                changed.conversations.add(row.conversation_id)
            if row.name is not None:
                changed.names.add(row.name)
        for place in self._sources.values():
            place.settle(self._now())
        return found

    async def _begin(self) -> dict[str, _Source]:
        async with self._db.statement() as connection:
            row = (await connection.execute(_NEWEST, {"recent": RECENT_SECONDS})).one()
        return {name: _Source(floor=getattr(row, name)) for name in ("event", "message", "audit")}
