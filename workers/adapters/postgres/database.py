"""Connections and transactions. What the driver throws comes out as `Unavailable`, or is a fault of ours."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, cast

import psycopg
from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as PoolExhausted
from sqlalchemy.ext.asyncio import AsyncConnection, create_async_engine

from schemas.errors import Unavailable
from workers.adapters.postgres.migrate import sqlalchemy_url

_AWAY_CLASSES = ("08", "53", "57P", "58")
"""SQLSTATE classes of a server that is away, full, refusing or shutting down."""


class Database:
    """A pool of connections to one database. Make it on the event loop that uses it; `close` it there."""

    def __init__(self, url: str, pool_size: int = 16, prepare: bool = True, pool_timeout: float = 10.0) -> None:
        self.engine = create_async_engine(
            sqlalchemy_url(url),
            pool_size=pool_size,
            max_overflow=0,
            pool_timeout=pool_timeout,
            pool_pre_ping=False,
            pool_reset_on_return="rollback",
            connect_args={
                "connect_timeout": 5,
                "application_name": "replique",
                "prepare_threshold": 5 if prepare else None,
                "options": "-c lock_timeout=10000 -c idle_in_transaction_session_timeout=60000 -c timezone=UTC",
            },
        )
        self._autocommit = self.engine.execution_options(isolation_level="AUTOCOMMIT")

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[AsyncConnection]:
        """One transaction, committed at the end, rolled back when anything is raised inside."""
        try:
            async with self.engine.begin() as connection, self._cut_noticed(connection):
                yield connection
        except (DBAPIError, psycopg.Error, PoolExhausted, OSError) as error:
            raise _named(error) from error

    @asynccontextmanager
    async def statement(self) -> AsyncIterator[AsyncConnection]:
        """A connection on which every statement commits by itself: one round trip instead of three."""
        try:
            async with self._autocommit.connect() as connection, self._cut_noticed(connection):
                yield connection
        except (DBAPIError, psycopg.Error, PoolExhausted, OSError) as error:
            raise _named(error) from error

    @asynccontextmanager
    async def _cut_noticed(self, connection: AsyncConnection) -> AsyncIterator[None]:
        """One connection that was cut means that the server went: the idle ones are replaced with it."""
        pool = self.engine.pool
        try:
            yield
        except psycopg.Error:
            if driver_of(connection).closed:
                await connection.invalidate()
                if self.engine.pool is pool:
                    await self.engine.dispose()
            raise

    async def close(self) -> None:
        await self.engine.dispose()


def driver_of(connection: AsyncConnection) -> psycopg.AsyncConnection[Any]:
    """The driver's own connection underneath."""
    proxied = connection.sync_connection
    if proxied is None:
        raise AssertionError("the connection is closed")
    return cast(psycopg.AsyncConnection[Any], proxied.connection.driver_connection)


def _named(error: Exception) -> Exception:
    original = error.orig if isinstance(error, DBAPIError) else error
    if isinstance(original, psycopg.Error):
        state = original.sqlstate or ""
        no_answer = isinstance(original, psycopg.OperationalError | psycopg.InterfaceError) and not state
        lock_timeout = state == "55P03"
        if not (no_answer or lock_timeout or state.startswith(_AWAY_CLASSES)):
            return error
    return Unavailable("the database does not answer", retry_after=2)
