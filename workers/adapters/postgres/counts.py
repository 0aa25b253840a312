"""What is counted for dashboards: counted in the database, so every gateway says the same, also after a restart."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

from schemas.answers import QueueOut
from schemas.ids import OrgId
from schemas.jobs import Queue
from workers.adapters.postgres.database import Database
from workers.adapters.postgres.measures import Measures, measure
from workers.adapters.postgres.migrate import current, newest

TOTALS_SECONDS = 5.0
TOTALS_SHARE = 20
"""Totals are read again after this many times what reading them took: however much there is, at most a twentieth of
one connection's time."""

# The two conditions are those of the partial indexes `*_due` and `*_in_flight`: what waits, and what is with workers.
_WAITING = (
    "SELECT queue, org_id, due_at, false AS sent, false AS leased FROM {table} "
    "WHERE dispatched_at IS NULL AND lease_until IS NULL AND due_at IS NOT NULL"
)
_WITH_WORKERS = (
    "SELECT queue, org_id, due_at, true AS sent, lease_until IS NOT NULL AS leased FROM {table} "
    "WHERE dispatched_at IS NOT NULL OR lease_until IS NOT NULL"
)
_CLOCK_ROWS = " UNION ALL ".join(
    part.format(table=table) for table in ("jobs", "deliveries", "chores") for part in (_WAITING, _WITH_WORKERS)
)
_QUEUES = text(
    "SELECT queue, count(*) FILTER (WHERE NOT leased) AS depth, "
    "count(*) FILTER (WHERE NOT leased AND due_at <= now()) AS due, count(*) FILTER (WHERE sent) AS in_flight, "
    "min(due_at) FILTER (WHERE NOT leased AND due_at <= now()) AS oldest, now() AS moment, "
    "min(due_at) FILTER (WHERE NOT sent AND due_at <= now()) AS unseen "
    f"FROM ({_CLOCK_ROWS}) AS rows WHERE CAST(:org AS bigint) IS NULL OR org_id = :org GROUP BY queue ORDER BY queue"
)
_ON_HOLD = text("SELECT count(*) FROM jobs WHERE state IN ('queued', 'running', 'held', 'sending') AND on_hold")
# Not `failed`: a retry of the delivery makes such a bubble held again.
_CANDIDATES = text(
    "SELECT kind, state AS outcome, count(*) AS n FROM candidates WHERE state IN ('sent', 'dropped', 'recalled') "
    "GROUP BY 1, 2"
)
_LEDGER = text(
    "SELECT org_id, pipeline, provider, model, coalesce(outcome, state) AS outcome, count(*) AS n, "
    "sum(input) AS input, sum(cache_read) AS cache_read, sum(cache_write_5m + cache_write_1h) AS cache_write, "
    "sum(output) AS output, coalesce(sum(cost_usd), 0) AS usd, coalesce(sum(cost_usd * eur_per_usd), 0) AS eur "
    "FROM ledger WHERE state <> 'reserved' GROUP BY 1, 2, 3, 4, 5"
)
_DELIVERIES = text(
    "SELECT count(*) FILTER (WHERE state = 'accepted') AS accepted, "
    "coalesce(sum(attempts), 0) - count(*) FILTER (WHERE state IN ('accepted', 'posting')) AS not_accepted "
    "FROM deliveries"
)
_DEAD = text("SELECT source, count(*) AS n FROM dead_letters WHERE state = 'open' GROUP BY source")


@dataclass(frozen=True, slots=True)
class LedgerSum:
    """Sums over the settled and unknown calls of one organisation, pipeline, model and outcome."""

    org: int
    pipeline: str
    provider: str
    model: str
    outcome: str
    calls: int
    tokens: dict[str, int]
    usd: Decimal
    eur: Decimal


@dataclass(frozen=True, slots=True)
class Totals:
    """What only ever grows. Keys are label values in the order of the metric's labels."""

    measures: Measures
    candidates: dict[tuple[str, str], int]
    ledger: Sequence[LedgerSum]
    webhook_attempts: dict[str, int]


@dataclass(frozen=True, slots=True)
class Counts:
    """One scrape: how things stand now, and the totals."""

    queues: Sequence[QueueOut]
    on_hold: int
    dead_letters: dict[str, int]
    totals: Totals


@dataclass(frozen=True, slots=True)
class Standing:
    """How far the schema is, and since when the oldest due row has not been looked at by any clock."""

    migration: str | None
    newest: str | None
    unseen_seconds: float

    @property
    def at_head(self) -> bool:
        return self.migration == self.newest


class Counter:
    """Totals read whole tables, so one reading serves all scrapes of the next seconds (`now` is a monotonic clock)."""

    def __init__(self, database: Database, now: Callable[[], float]) -> None:
        self._db = database
        self._now = now
        self._reading = asyncio.Lock()
        self._last: tuple[float, Totals] | None = None
        """Until when they serve, and the totals."""

    async def queues(self, org: OrgId | None) -> list[QueueOut]:
        """Every queue, also the empty ones."""
        async with self._db.transaction() as connection:
            return await _queues(connection, org)

    async def counts(self) -> Counts:
        totals = await self._totals()
        async with self._db.transaction() as connection:
            return Counts(
                queues=await _queues(connection, None),
                on_hold=await connection.scalar(_ON_HOLD) or 0,
                dead_letters={row.source: row.n for row in await connection.execute(_DEAD)},
                totals=totals,
            )

    async def _totals(self) -> Totals:
        async with self._reading:
            if self._last is None or self._last[0] <= self._now():
                began = self._now()
                totals = await self._read_totals()
                cost = self._now() - began
                self._last = (began + max(TOTALS_SECONDS, TOTALS_SHARE * cost), totals)
            return self._last[1]

    async def _read_totals(self) -> Totals:
        async with self._db.transaction() as connection:
            return Totals(
                measures=await measure(connection),
                candidates={(r.kind, r.outcome): r.n for r in await connection.execute(_CANDIDATES)},
                ledger=[_ledger_sum(row) for row in await connection.execute(_LEDGER)],
                webhook_attempts=dict((await connection.execute(_DELIVERIES)).one()._mapping),
            )

    async def standing(self) -> Standing:
        """Raises `Unavailable` when the database does not answer."""
        async with self._db.transaction() as connection:
            migration = await connection.run_sync(current)
            head = newest()
            if migration != head:
                return Standing(migration, head, 0.0)
            rows = (await connection.execute(_QUEUES, {"org": None})).all()
        return Standing(migration, head, max((_age(row.unseen, row.moment) for row in rows), default=0.0))


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


def _ledger_sum(row: Any) -> LedgerSum:
    tokens = {kind: int(getattr(row, kind)) for kind in ("input", "cache_read", "cache_write", "output")}
    return LedgerSum(row.org_id, row.pipeline, row.provider, row.model, row.outcome, row.n, tokens, row.usd, row.eur)
