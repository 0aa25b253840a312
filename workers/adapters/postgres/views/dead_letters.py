"""Work that was given up, as operators read it."""

from typing import Any

from sqlalchemy import text

from schemas.answers import DeadLetterOut, Page
from schemas.errors import NotFound
from schemas.ids import DeadLetterId, OrgId, reference
from workers.adapters.postgres.views.paging import before
from workers.adapters.postgres.views.snapshot import Snapshots
from workers.adapters.postgres.views.trace import trace_of

_LETTERS = "SELECT d.*, o.name AS organization FROM dead_letters d LEFT JOIN organizations o ON o.id = d.org_id "
_PAGE = (
    _LETTERS + "WHERE d.state = '{state}' AND d.id < :before AND (CAST(:org AS bigint) IS NULL OR d.org_id = :org) "
    "AND (CAST(:source AS text) IS NULL OR d.source = :source) ORDER BY d.id DESC LIMIT :limit"
)
# The state stands in the statement, so that the index of the open ones fits a prepared statement too.
_PAGES = {state: text(_PAGE.format(state=state)) for state in ("open", "retried", "purged")}
_ONE = text(_LETTERS + "WHERE d.id = :id AND (CAST(:org AS bigint) IS NULL OR d.org_id = :org)")


class DeadLetters:
    def __init__(self, snapshots: Snapshots) -> None:
        self._snapshots = snapshots

    async def page(
        self, org: OrgId | None, state: str, source: str | None, cursor: str | None, limit: int
    ) -> Page[DeadLetterOut]:
        bound = {"org": org, "source": source, "before": before("dead", cursor), "limit": limit + 1}
        async with self._snapshots.open() as connection:
            rows = (await connection.execute(_PAGES[state], bound)).all()
        following = reference("dead", rows[limit - 1].id) if len(rows) > limit else None
        return Page[DeadLetterOut](items=[_shown(row) for row in rows[:limit]], next=following)

    async def one(self, org: OrgId | None, letter: DeadLetterId) -> DeadLetterOut:
        """With the story of the job's runs. Raises `NotFound`."""
        async with self._snapshots.open() as connection:
            row = (await connection.execute(_ONE, {"id": letter, "org": org})).one_or_none()
            if row is None:
                raise NotFound("no such dead letter")
            trace = [] if row.job_id is None else await trace_of(connection, row.job_id)
        return _shown(row).model_copy(update={"trace": trace})


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
