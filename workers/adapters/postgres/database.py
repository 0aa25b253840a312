"""Connections and transactions. What the driver throws comes out as `Unavailable`, or is a fault of ours."""

import select
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, cast

import psycopg
from sqlalchemy import event
from sqlalchemy.exc import DBAPIError, DisconnectionError
from sqlalchemy.exc import TimeoutError as PoolExhausted
from sqlalchemy.ext.asyncio import AsyncConnection, create_async_engine
from sqlalchemy.pool import ConnectionPoolEntry, PoolProxiedConnection

from schemas.errors import Unavailable
from workers.adapters.postgres.migrate import sqlalchemy_url

_AWAY_CLASSES = ("08", "53", "57P", "58")
"""SQLSTATE classes of a server that is away, full, refusing or shutting down."""

_VANISHED = {"keepalives_idle": 5, "keepalives_interval": 5, "keepalives_count": 3, "tcp_user_timeout": 20_000}
"""A server whose machine is gone says no farewell: over TCP a connection to it is given up after twenty seconds, and
not after the two hours and more of the system."""


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
                **_VANISHED,
                "application_name": "replique",
                "prepare_threshold": 5 if prepare else None,
                "options": "-c lock_timeout=10000 -c idle_in_transaction_session_timeout=60000 -c timezone=UTC",
            },
        )
        self._generation = 0
        event.listen(self.engine.sync_engine, "connect", self._stamp)
        event.listen(self.engine.sync_engine, "checkout", self._refuse_older)
        self._autocommit = self.engine.execution_options(isolation_level="AUTOCOMMIT")

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[AsyncConnection]:
        """One transaction, committed at the end, rolled back when anything is raised inside.

        The driver begins it with the first statement and commits it: asking the engine for both took a sixth more
        processor time. Giving the connection back rolls back what was not committed.
        """
        try:
            async with self.engine.connect() as connection, self._cut_noticed(connection):
                yield connection
                await driver_of(connection).commit()
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
        """One connection that was cut means that the server went: its whole generation is replaced when next used."""
        generation = _proxied(connection).info["generation"]
        try:
            yield
        except psycopg.Error:
            if driver_of(connection).closed:
                await connection.invalidate()
                self._generation = max(self._generation, generation + 1)
            raise

    def _stamp(self, _driver: object, record: ConnectionPoolEntry) -> None:
        record.info["generation"] = self._generation

    def _refuse_older(self, driver: Any, record: ConnectionPoolEntry, _proxy: object) -> None:
        """The pool opens another instead. Whoever comes first after a restart must not be the one who finds out."""
        if _hung_up(driver.driver_connection):
            self._generation = max(self._generation, record.info["generation"] + 1)
        if record.info["generation"] < self._generation:
            raise DisconnectionError("opened before the server went away")

    async def close(self) -> None:
        await self.engine.dispose()


def driver_of(connection: AsyncConnection) -> psycopg.AsyncConnection[Any]:
    """The driver's own connection underneath."""
    return cast(psycopg.AsyncConnection[Any], _proxied(connection).driver_connection)


def _hung_up(driver: psycopg.AsyncConnection[Any]) -> bool:
    """Whether an idle connection was ended from the other side, told without asking the server.

    A server says nothing to an idle connection but its farewell, so anything to read means that it is gone. (A
    reload of its configuration may speak too: that costs a new connection, once.) One system call, no round trip.
    """
    if driver.closed:
        return True
    watch = select.poll()
    watch.register(driver.fileno(), select.POLLIN)
    return bool(watch.poll(0))


def _proxied(connection: AsyncConnection) -> PoolProxiedConnection:
    if connection.sync_connection is None:
        raise AssertionError("the connection is closed")
    return connection.sync_connection.connection


def _named(error: Exception) -> Exception:
    original = error.orig if isinstance(error, DBAPIError) else error
    if isinstance(original, psycopg.Error):
        state = original.sqlstate or ""
        no_answer = isinstance(original, psycopg.OperationalError | psycopg.InterfaceError) and not state
        lock_timeout = state == "55P03"
        if not (no_answer or lock_timeout or state.startswith(_AWAY_CLASSES)):
            return error
    return Unavailable("the database does not answer", retry_after=2)
