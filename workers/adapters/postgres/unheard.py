"""Calls of no job whose process is gone: the playground's, an embedding's, a chore's that nobody takes up again.

A job's calls are settled by whoever goes on with the job. Of these there is nobody, so the clock does it: what was set
aside is their cost, as for every call whose answer nobody heard. An answer that comes after all still settles them.
"""

from sqlalchemy import text

from workers.adapters.postgres import ledger
from workers.adapters.postgres.database import Database

BATCH = 500

_LEFT = (
    "call = ANY(ARRAY(SELECT call FROM ledger WHERE state = 'reserved' AND job_id IS NULL "
    "AND at < now() - interval '15 minutes' ORDER BY at LIMIT :batch))"
)
# No call may take as long.
_SETTLE = text(ledger.UNHEARD.format(which=_LEFT))


class Unheard:
    def __init__(self, database: Database, batch: int = BATCH) -> None:
        self._db = database
        self._batch = batch

    async def settle(self) -> int:
        """How many there were. Raises `Unavailable`."""
        async with self._db.transaction() as connection:
            return (await connection.execute(_SETTLE, {"batch": self._batch})).rowcount
