"""One transaction of the guarded transitions: its statements, and the hints that leave once it is committed."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Row, TextClause
from sqlalchemy.ext.asyncio import AsyncConnection

from schemas.jobs import Hint
from schemas.settings import Settings
from workers.adapters.postgres.specs import Specs


@dataclass(slots=True)
class Transaction:
    """`chance` gives a number in [0, 1): the jitter of pauses. `instance` names this process on its leases."""

    connection: AsyncConnection
    specs: Specs
    settings: Settings
    instance: str
    chance: Callable[[], float]
    hints: list[Hint] = field(default_factory=list)

    @property
    def lease(self) -> float:
        return self.settings.queue.lease_seconds

    async def one(self, statement: TextClause, **values: Any) -> Row[Any] | None:
        """The first row, or None."""
        return (await self.connection.execute(statement, values)).first()

    async def the(self, statement: TextClause, **values: Any) -> Row[Any]:
        """The one row of a statement that always has one."""
        return (await self.connection.execute(statement, values)).one()

    async def all(self, statement: TextClause, **values: Any) -> Sequence[Row[Any]]:
        return (await self.connection.execute(statement, values)).all()

    async def run(self, statement: TextClause, **values: Any) -> int:
        """How many rows were changed."""
        return (await self.connection.execute(statement, values)).rowcount
