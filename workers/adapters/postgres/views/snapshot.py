"""One moment of the database for reads of several statements: a job and its candidates never contradict."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

from workers.adapters.postgres.database import Database

_ONE_MOMENT = text("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")


class Snapshots:
    def __init__(self, database: Database) -> None:
        self._db = database

    @asynccontextmanager
    async def open(self, *, longer: bool = False) -> AsyncIterator[AsyncConnection]:
        """`longer`: it may read a lot."""
        async with self._db.transaction(longer=longer) as connection:
            await connection.execute(_ONE_MOMENT)
            yield connection
