"""Hear the statements that a storage sends, at the driver, which sends them all."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from psycopg import AsyncCursor
from sqlalchemy import event

from tests.builders_storage import Storage


@contextmanager
def overheard(storage: Storage) -> Iterator[list[tuple[str, Any]]]:
    """Every statement sent meanwhile, with what was bound; BEGIN and COMMIT are not among them."""
    heard: list[tuple[str, Any]] = []

    class Listening(AsyncCursor[Any]):
        async def execute(self, query: Any, params: Any = None, **options: Any) -> Any:
            heard.append((query.decode() if isinstance(query, bytes) else str(query), params))
            return await super().execute(query, params, **options)

    def give(connection: Any, *_: Any) -> None:
        connection.driver_connection.cursor_factory = Listening

    def take_back(connection: Any, *_: Any) -> None:
        connection.driver_connection.cursor_factory = AsyncCursor

    pool = storage.database.engine.sync_engine
    event.listen(pool, "checkout", give)
    event.listen(pool, "checkin", take_back)
    try:
        yield heard
    finally:
        event.remove(pool, "checkout", give)
        event.remove(pool, "checkin", take_back)
