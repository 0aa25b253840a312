"""One transaction of the guarded transitions: its statements, and the hints that leave once it is committed.

Statements go to the driver directly: a transition is many short ones, and an abstraction over each would cost as much
processor time as the statement itself.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, cast

from psycopg import AsyncConnection
from psycopg.rows import namedtuple_row

from schemas.jobs import Hint
from schemas.settings import Settings
from workers.adapters.postgres.specs import Specs

_NAMED = re.compile(r"(?<![:\w]):([a-z_]\w*)")
_SPACE = re.compile(r"\s+")


class Row(Protocol):
    """A row; its columns are attributes."""

    def __getattr__(self, column: str) -> Any: ...


def sql(statement: str) -> bytes:
    """A statement as the driver wants it. Values are named `:so`.

    On one line: the driver remembers how it has read a statement only up to 4096 bytes.
    """
    if "%" in statement:
        raise ValueError("a percent sign would be read as the start of a value")
    return _SPACE.sub(" ", _NAMED.sub(r"%(\1)s", statement)).strip().encode()


@dataclass(slots=True)
class Transaction:
    """`chance` gives a number in [0, 1): the jitter of pauses. `instance` names this process on its leases."""

    connection: AsyncConnection[Any]
    specs: Specs
    settings: Settings
    instance: str
    chance: Callable[[], float]
    hints: list[Hint] = field(default_factory=list)

    @property
    def lease(self) -> float:
        return self.settings.queue.lease_seconds

    async def one(self, statement: bytes, **values: Any) -> Row | None:
        """The first row, or None."""
        cursor = self.connection.cursor(row_factory=namedtuple_row)
        await cursor.execute(statement, values)
        return cast(Row | None, await cursor.fetchone())

    async def the(self, statement: bytes, **values: Any) -> Row:
        """The row of a statement that always has one: a guard that cannot fail under the lock, a count."""
        row = await self.one(statement, **values)
        if row is None:
            raise AssertionError(f"no row: {statement.decode()[:80]}")
        return row

    async def all(self, statement: bytes, **values: Any) -> Sequence[Row]:
        cursor = self.connection.cursor(row_factory=namedtuple_row)
        await cursor.execute(statement, values)
        return cast(Sequence[Row], await cursor.fetchall())

    async def run(self, statement: bytes, **values: Any) -> int:
        """How many rows were changed."""
        cursor = await self.connection.execute(statement, values)
        return cursor.rowcount
