"""What is counted for dashboards: counted in the database, so every gateway says the same, also after a restart."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

from schemas.costs import PlanUseOut
from schemas.ids import OrgId
from schemas.jobs import Queue
from schemas.queues import QueueOut
from schemas.settings import Settings
from workers.adapters.postgres import totals
from workers.adapters.postgres.database import Database
from workers.adapters.postgres.measures import Measures
from workers.adapters.postgres.migrate import fit
from workers.adapters.postgres.views.costs import plan_uses

# The two conditions are those of the partial indexes `*_due` and `*_in_flight`: what waits, and what is with workers.
_WAITING = (
    "SELECT queue, org_id, due_at, false AS sent, false AS leased FROM {table} "
    "WHERE dispatched_at IS NULL AND lease_until IS NULL AND {due}"
)
_WITH_WORKERS = (
    "SELECT queue, org_id, due_at, true AS sent, lease_until IS NOT NULL AS leased FROM {table} "
    "WHERE dispatched_at IS NOT NULL OR lease_until IS NOT NULL"
)
# Every conversation at rest has a lesson ahead of it: a chore that is not due is nothing that waits.
_DUE = {"jobs": "due_at IS NOT NULL", "deliveries": "due_at IS NOT NULL", "chores": "due_at <= now()"}
_CLOCK_ROWS = " UNION ALL ".join(
    part.format(table=table, due=due) for table, due in _DUE.items() for part in (_WAITING, _WITH_WORKERS)
)
_QUEUES = text(
    "SELECT queue, count(*) FILTER (WHERE NOT leased) AS depth, "
    "count(*) FILTER (WHERE NOT leased AND due_at <= now()) AS due, count(*) FILTER (WHERE sent) AS in_flight, "
    "min(due_at) FILTER (WHERE NOT leased AND due_at <= now()) AS oldest, now() AS moment, "
    "min(due_at) FILTER (WHERE NOT sent AND due_at <= now()) AS unseen "
    f"FROM ({_CLOCK_ROWS}) AS rows WHERE CAST(:org AS bigint) IS NULL OR org_id = :org GROUP BY queue ORDER BY queue"
)
_WRITABLE = text("SELECT current_setting('transaction_read_only') = 'off'")
_ON_HOLD = text("SELECT count(*) FROM jobs WHERE state IN ('queued', 'running', 'held', 'sending') AND on_hold")
_DEAD = text("SELECT source, count(*) AS n FROM dead_letters WHERE state = 'open' GROUP BY source")


@dataclass(frozen=True, slots=True)
class Counts:
    """One scrape: how things stand now, and what only ever grows."""

    queues: Sequence[QueueOut]
    on_hold: int
    dead_letters: dict[str, int]
    measures: Measures
    plans: Sequence[tuple[OrgId, PlanUseOut]] = ()
    refused: Mapping[str, int] = field(default_factory=dict)
    """Requests that this process sent away, by `crowd`, `no_connection`, `no_answer`."""


@dataclass(frozen=True, slots=True)
class Standing:
    """How far the schema is, and since when the oldest due row has not been looked at by any clock."""

    migration: str | None
    newest: str | None
    unseen_seconds: float
    fits: bool
    """It is the newest we know, or a later one that we may run on."""
    writable: bool = True


class Counter:
    def __init__(self, database: Database, settings: Settings) -> None:
        self._db = database
        self._settings = settings

    async def queues(self, org: OrgId | None) -> list[QueueOut]:
        """Every queue, also the empty ones."""
        async with self._db.transaction() as connection:
            return await _queues(connection, org)

    async def counts(self) -> Counts:
        async with self._db.transaction(longer=True) as connection:
            return Counts(
                queues=await _queues(connection, None),
                on_hold=await connection.scalar(_ON_HOLD) or 0,
                dead_letters={row.source: row.n for row in await connection.execute(_DEAD)},
                measures=Measures.of(await totals.read(connection)),
                plans=await plan_uses(connection, self._settings, None),
                refused=dict(self._db.refused),
            )

    async def standing(self) -> Standing:
        """Raises `Unavailable` when the database does not answer."""
        async with self._db.transaction() as connection:
            schema = await connection.run_sync(fit)
            if not schema.fits:
                return Standing(schema.migration, schema.newest, 0.0, fits=False)
            writable = await connection.scalar(_WRITABLE)
            rows = (await connection.execute(_QUEUES, {"org": None})).all()
        unseen = max((_age(row.unseen, row.moment) for row in rows), default=0.0)
        return Standing(schema.migration, schema.newest, unseen, fits=True, writable=bool(writable))


async def _queues(connection: AsyncConnection, org: OrgId | None) -> list[QueueOut]:
    found = {row.queue: row for row in await connection.execute(_QUEUES, {"org": org})}
    return [_queue(name, found.get(name)) for name in Queue]


def _queue(name: Queue, row: Any) -> QueueOut:
    if row is None:
        return QueueOut(queue=name, depth=0, due=0, in_flight=0, oldest_due_at=None, oldest_due_seconds=0.0)
    return QueueOut(
        queue=name,
        depth=row.depth,
        due=row.due,
        in_flight=row.in_flight,
        oldest_due_at=row.oldest,
        oldest_due_seconds=_age(row.oldest, row.moment),
    )


def _age(since: datetime | None, moment: datetime) -> float:
    return 0.0 if since is None else max((moment - since).total_seconds(), 0.0)
