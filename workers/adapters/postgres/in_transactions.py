"""What all transitions stand on: one transaction each, its hints pushed after commit."""

import random
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from sqlalchemy.ext.asyncio import AsyncConnection

from pipelines.ports import Courier
from schemas.settings import Settings
from workers.adapters.postgres.database import Database, driver_of
from workers.adapters.postgres.specs import Specs
from workers.adapters.postgres.transaction import Transaction


class InTransactions:
    """`instance` names this process on the leases it takes. `courier` is told after commit of what is due now.

    `chance` gives numbers in [0, 1) for the jitter of pauses.
    """

    def __init__(
        self,
        database: Database,
        settings: Settings,
        courier: Courier,
        instance: str,
        chance: Callable[[], float] = random.random,
    ) -> None:
        self._db = database
        self._settings = settings
        self._courier = courier
        self._instance = instance
        self._chance = chance
        self._specs = Specs()

    @asynccontextmanager
    async def _transaction(self) -> AsyncIterator[Transaction]:
        async with self._db.transaction() as connection:
            tx = self._on(connection)
            yield tx
        if tx.hints:
            await self._courier.push(tx.hints)

    def _on(self, connection: AsyncConnection) -> Transaction:
        return Transaction(driver_of(connection), self._specs, self._settings, self._instance, self._chance)
