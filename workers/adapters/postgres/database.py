"""Connections and transactions. What the driver throws comes out as `Unavailable`, or is a fault of ours."""

import asyncio
import os
import select
import socket
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from typing import Any, cast

import psycopg
from sqlalchemy import event
from sqlalchemy.exc import DBAPIError, DisconnectionError
from sqlalchemy.exc import TimeoutError as PoolExhausted
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, create_async_engine
from sqlalchemy.pool import ConnectionPoolEntry, PoolProxiedConnection

from schemas.errors import Unavailable
from workers.adapters.postgres.migrate import sqlalchemy_url

_AWAY_CLASSES = ("08", "53", "57P", "58")
"""SQLSTATE classes of a server that is away, full, refusing or shutting down."""
_AWAY = ("55P03", "57014", "25006", "25P03")
"""A lock or a statement that took too long, a server that only reads, a transaction that stood idle."""
_ERRORS = (DBAPIError, psycopg.Error, PoolExhausted, OSError)
_SHARE = 0.8
"""Of the time there is, for one statement: the server ends it by itself before we hang up."""
_LONGER = "SET LOCAL statement_timeout = {ms}"


@dataclass(frozen=True, slots=True)
class Patience:
    """How long those who ask are kept waiting, and how many of them."""

    seconds: float
    """For a connection and everything done with it."""
    longer: float
    """The same for what reads or writes a lot."""
    callers: int
    """Waiting for a connection at once; whoever comes then is refused."""


_VANISHED = {"keepalives_idle": 5, "keepalives_interval": 5, "keepalives_count": 3, "tcp_user_timeout": 20_000}
"""A server whose machine is gone says no farewell: over TCP a connection to it is given up after twenty seconds, and
not after the two hours and more of the system."""


class Database:
    """A pool of connections to one database. Make it on the event loop that uses it; `close` it there.

    Without `patience` a transaction may take as long as it takes: that is for processes in which nobody waits.
    """

    def __init__(
        self,
        url: str,
        pool_size: int = 16,
        prepare: bool = True,
        pool_timeout: float = 10.0,
        patience: Patience | None = None,
    ) -> None:
        self._patience = patience
        limits = "-c lock_timeout=10000"
        if patience is not None:
            one = int(1000 * _SHARE * patience.seconds)
            limits = f"-c lock_timeout={one} -c statement_timeout={one}"
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
                "options": f"{limits} -c idle_in_transaction_session_timeout=60000 -c timezone=UTC",
            },
        )
        self.refused = Counter[str]()
        """How often somebody was sent away: `crowd` (too many waited), `no_connection`, `no_answer`."""
        self._waiting = 0
        self._generation = 0
        event.listen(self.engine.sync_engine, "connect", self._stamp)
        event.listen(self.engine.sync_engine, "checkout", self._refuse_older)
        self._autocommit = self.engine.execution_options(isolation_level="AUTOCOMMIT")

    @asynccontextmanager
    async def transaction(self, *, longer: bool = False) -> AsyncIterator[AsyncConnection]:
        """One transaction, committed at the end, rolled back when anything is raised inside.

        The driver begins it with the first statement and commits it: asking the engine for both took a sixth more
        processor time. Giving the connection back rolls back what was not committed. `longer`: it reads or writes a
        lot; where somebody waits for it, they are told to.
        """
        with self._naming():
            async with self._connected(self.engine, longer) as connection:
                yield connection
                await driver_of(connection).commit()

    @asynccontextmanager
    async def statement(self) -> AsyncIterator[AsyncConnection]:
        """A connection on which every statement commits by itself: one round trip instead of three."""
        with self._naming():
            async with self._connected(self._autocommit, longer=False) as connection:
                yield connection

    @asynccontextmanager
    async def _connected(self, engine: AsyncEngine, longer: bool) -> AsyncIterator[AsyncConnection]:
        patience = self._patience
        if patience is None:
            async with engine.connect() as connection, self._cut_noticed(connection):
                yield connection
            return
        end = asyncio.get_running_loop().time() + patience.seconds
        connection = await self._connection(engine, patience, end)
        hanging_up = _hang_up_at(end, connection)
        try:
            async with _given_back(connection), self._cut_noticed(connection):
                if longer:
                    await connection.exec_driver_sql(_LONGER.format(ms=int(1000 * _SHARE * patience.longer)))
                    hanging_up.cancel()
                    hanging_up = _hang_up_at(end - patience.seconds + patience.longer, connection)
                yield connection
        finally:
            hanging_up.cancel()

    async def _connection(self, engine: AsyncEngine, patience: Patience, end: float) -> AsyncConnection:
        if self._waiting >= patience.callers:
            self.refused["crowd"] += 1
            raise Unavailable("too many wait for the database", retry_after=1)
        self._waiting += 1
        try:
            async with asyncio.timeout_at(end):
                return await engine.connect()
        except _ERRORS as error:
            raise self._sent_away(error, "no_connection") from error
        finally:
            self._waiting -= 1

    @contextmanager
    def _naming(self) -> Iterator[None]:
        try:
            yield
        except _ERRORS as error:
            raise self._sent_away(error, "no_answer") from error

    def _sent_away(self, error: Exception, why: str) -> Exception:
        named = _named(error)
        if isinstance(named, Unavailable):
            self.refused[why] += 1
        return named

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


@asynccontextmanager
async def _given_back(connection: AsyncConnection) -> AsyncIterator[None]:
    try:
        yield
    finally:
        closing = asyncio.create_task(connection.close())
        await asyncio.shield(closing)


def _hang_up_at(end: float, connection: AsyncConnection) -> asyncio.TimerHandle:
    """To whoever waits for its answer it then looks as if the server had gone.

    Cancelling would ask the server first, and wait for what it says: for ever, when nothing comes from there.
    """
    return asyncio.get_running_loop().call_at(end, _hang_up, connection, driver_of(connection))


def _hang_up(connection: AsyncConnection, driver: psycopg.AsyncConnection[Any]) -> None:
    if connection.closed or driver.closed:  # given back: by now it may be somebody else's
        return
    with suppress(OSError), socket.socket(fileno=os.dup(driver.fileno())) as line:
        line.shutdown(socket.SHUT_RDWR)


def _named(error: Exception) -> Exception:
    original = error.orig if isinstance(error, DBAPIError) else error
    if isinstance(original, psycopg.Error):
        state = original.sqlstate or ""
        no_answer = isinstance(original, psycopg.OperationalError | psycopg.InterfaceError) and not state
        if not (no_answer or state in _AWAY or state.startswith(_AWAY_CLASSES)):
            return error
    return Unavailable("the database does not answer", retry_after=2)
