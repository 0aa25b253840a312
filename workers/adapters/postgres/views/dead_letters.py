"""Work that was given up, as operators read it."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from sqlalchemy import text

from pipelines.ops.letters import without_texts
from schemas.answers import DeadLetterOut, Page
from schemas.errors import Code, NotFound
from schemas.ids import DeadLetterId, JobId, OrgId, reference
from workers.adapters.postgres.views.paging import before
from workers.adapters.postgres.views.snapshot import Snapshots
from workers.adapters.postgres.views.trace import trace_of

_LETTERS = "SELECT d.*, o.name AS organization FROM dead_letters d LEFT JOIN organizations o ON o.id = d.org_id "
_SOME = text(_LETTERS + "WHERE d.id = ANY(:ids) ORDER BY d.id DESC")
_ONE = text(_LETTERS + "WHERE d.id = :id AND (CAST(:org AS bigint) IS NULL OR d.org_id = :org)")
# Through organizations, because the index on a conversation's name starts with its organisation.
_IN_CONVERSATION = (
    "d.job_id = ANY(ARRAY(SELECT j.id FROM organizations o "
    "JOIN conversations c ON c.org_id = o.id AND c.name = :conversation JOIN jobs j ON j.conversation_id = c.id))"
)


@dataclass(frozen=True, slots=True)
class LetterFilter:
    """What a list of dead letters is narrowed to. `conversation` is the upstream app's name of it; `since` and `until`
    are about the last time it was seen."""

    state: str = "open"
    source: str | None = None
    code: Code | None = None
    job: JobId | None = None
    conversation: str | None = None
    since: datetime | None = None
    until: datetime | None = None

    def in_state(self, state: str) -> "LetterFilter":
        return replace(self, state=state)

    def seen_before(self, until: datetime) -> "LetterFilter":
        return replace(self, until=until)

    def asked(self) -> dict[str, str]:
        """What was asked for, as words: for the audit log. Empty: everything that is open."""
        named = {
            "source": self.source,
            "code": self.code,
            "job": None if self.job is None else reference("job", self.job),
            "conversation": self.conversation,
            "since": None if self.since is None else self.since.isoformat(),
            "until": None if self.until is None else self.until.isoformat(),
        }
        return {name: str(value) for name, value in named.items() if value is not None}

    def where(self, org: OrgId | None) -> tuple[list[str], dict[str, Any]]:
        """Conditions on `dead_letters d` and their bound values; only what is asked for, so that indexes fit. The
        state stands in the statement: an index is about the open ones."""
        conditions = {
            "d.org_id = :org": ("org", org),
            "d.source = :source": ("source", self.source),
            "d.code = :code": ("code", self.code),
            "d.job_id = :job": ("job", self.job),
            _IN_CONVERSATION: ("conversation", self.conversation),
            "d.last_seen >= :since": ("since", self.since),
            "d.last_seen < :until": ("until", self.until),
        }
        wanted = {condition: pair for condition, pair in conditions.items() if pair[1] is not None}
        return [f"d.state = '{self.state}'", *wanted], dict(wanted.values())


class DeadLetters:
    def __init__(self, snapshots: Snapshots) -> None:
        self._snapshots = snapshots

    async def page(
        self, org: OrgId | None, wanted: LetterFilter, cursor: str | None, limit: int
    ) -> Page[DeadLetterOut]:
        """Newest first, without traces."""
        async with self._snapshots.open() as connection:
            ids = list(await connection.scalars(*_ids(org, wanted, cursor, limit + 1)))
            rows = (await connection.execute(_SOME, {"ids": ids[:limit]})).all()
        following = reference("dead", ids[limit - 1]) if len(ids) > limit else None
        return Page[DeadLetterOut](items=[_shown(row) for row in rows], next=following)

    async def find(
        self, org: OrgId | None, wanted: LetterFilter, cursor: str | None, limit: int
    ) -> tuple[list[DeadLetterId], str | None]:
        """Which they are, and where the next ones begin."""
        async with self._snapshots.open() as connection:
            ids = list(await connection.scalars(*_ids(org, wanted, cursor, limit + 1)))
        following = reference("dead", ids[limit - 1]) if len(ids) > limit else None
        return [DeadLetterId(number) for number in ids[:limit]], following

    async def count(self, org: OrgId | None, wanted: LetterFilter, most: int) -> int:
        """How many there are; `most` at the most."""
        statement, values = _ids(org, wanted, None, most)
        async with self._snapshots.open() as connection:
            return len((await connection.scalars(statement, values)).all())

    async def one(self, org: OrgId | None, letter: DeadLetterId) -> DeadLetterOut:
        """With the story of the job's runs, without what was said in them. Raises `NotFound`."""
        async with self._snapshots.open() as connection:
            row = (await connection.execute(_ONE, {"id": letter, "org": org})).one_or_none()
            if row is None:
                raise NotFound("no such dead letter")
            trace = [] if row.job_id is None else await trace_of(connection, row.job_id)
        return _shown(row).model_copy(update={"trace": without_texts(trace)})


def _ids(org: OrgId | None, wanted: LetterFilter, cursor: str | None, limit: int) -> tuple[Any, Mapping[str, Any]]:
    conditions, values = wanted.where(org)
    clause = " AND ".join(["d.id < :before", *conditions])
    statement = text(f"SELECT d.id FROM dead_letters d WHERE {clause} ORDER BY d.id DESC LIMIT :limit")
    return statement, {**values, "before": before("dead", cursor), "limit": limit}


def _shown(row: Any) -> DeadLetterOut:
    return DeadLetterOut(
        id=reference("dead", row.id),
        organization=row.organization,
        job=None if row.job_id is None else reference("job", row.job_id),
        source=row.source,
        state=row.state,
        code=row.code,
        error=row.error,
        attempts=row.attempts,
        first_seen=row.first_seen,
        last_seen=row.last_seen,
        payload=row.payload,
    )
