"""Running sums over everything that ever happened: what triggers tally in each transaction, folded now and then.

A change is either in `tallies` or in `totals`, never in both: a fold deletes the one and adds to the other in one
statement, and whoever reads does so in one statement. So the order of commits does not matter, and every gateway says
the same. docs/decisions/metrics.md has what each metric counts.
"""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

from workers.adapters.postgres.database import Database

BATCH = 20_000
"""How many changes one transaction folds."""

_LOCK = 5_142_003

_SUMS = ("n", "amount", "input", "cache_read", "cache_write", "output", "usd", "eur")
_COLUMNS = f"metric, labels, {', '.join(_SUMS)}"
_SUMMED = f"metric, labels, {', '.join(f'sum({column}) AS {column}' for column in _SUMS)}"

# Nobody has heard how these calls ended, and by now nobody will: no call may take as long. Not before, since the
# answer that a worker is still waiting for when its run is thrown away settles them.
_UNHEARD = (
    "SELECT 'ai_calls', ARRAY[org_id::text, pipeline, provider, model, 'unknown'], 1, 0, 0, 0, 0, 0, "
    "coalesce(cost_usd, 0), coalesce(cost_usd * eur_per_usd, 0) FROM ledger "
    "WHERE state = 'unknown' AND outcome IS NULL AND at < now() - interval '15 minutes'"
)
READ = text(
    f"SELECT {_SUMMED} FROM (SELECT {_COLUMNS} FROM totals UNION ALL SELECT {_COLUMNS} FROM tallies "
    f"UNION ALL {_UNHEARD}) AS every GROUP BY metric, labels"
)
FOLD = text(
    "WITH moved AS (DELETE FROM tallies WHERE ctid = ANY(ARRAY(SELECT ctid FROM tallies LIMIT :batch)) RETURNING *), "
    f"kept AS (INSERT INTO totals AS t ({_COLUMNS}) SELECT {_SUMMED} FROM moved GROUP BY metric, labels "
    "ON CONFLICT (metric, labels) DO UPDATE SET "
    f"{', '.join(f'{column} = t.{column} + excluded.{column}' for column in _SUMS)}) SELECT count(*) FROM moved"
)


async def read(connection: AsyncConnection) -> Sequence[Any]:
    """A row for each metric and its labels, in their order: sorted by the database, all tallies would be."""
    return sorted((await connection.execute(READ)).all(), key=lambda row: (row.metric, row.labels))


class Totals:
    def __init__(self, database: Database, batch: int = BATCH) -> None:
        self._db = database
        self._batch = batch

    async def fold(self) -> int:
        """Answers how many changes went into the sums; none when another process is at it. Raises `Unavailable`."""
        folded = 0
        while moved := await self._fold_some():
            folded += moved
            if moved < self._batch:
                break
        return folded

    async def _fold_some(self) -> int:
        async with self._db.transaction() as connection:
            if not await connection.scalar(text("SELECT pg_try_advisory_xact_lock(:key)"), {"key": _LOCK}):
                return 0
            moved: int = await connection.scalar(FOLD, {"batch": self._batch}) or 0
            return moved
