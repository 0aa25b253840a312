"""Connections and transactions. What the driver throws comes out as `Unavailable`, or is a fault of ours."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from sqlalchemy.exc import DBAPIError, InterfaceError, OperationalError
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

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[AsyncConnection]:
        """One transaction, committed at the end, rolled back when anything is raised inside."""
        try:
            async with self.engine.begin() as connection:
                yield connection
        except (DBAPIError, PoolExhausted, OSError) as error:
            raise _named(error) from error

    async def close(self) -> None:
        await self.engine.dispose()


def _named(error: Exception) -> Exception:
    if isinstance(error, DBAPIError) and not error.connection_invalidated:
        state = getattr(error.orig, "sqlstate", None) or ""
        no_answer = isinstance(error, OperationalError | InterfaceError) and not state
        if not (no_answer or state.startswith(_AWAY_CLASSES) or state == "55P03"):
            return error
    return Unavailable("the database does not answer", retry_after=2)
