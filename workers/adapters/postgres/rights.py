"""What contacts may ask for, and what an organisation keeps no longer: each method is one transaction."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from schemas.ids import ErasureId, OrgId
from schemas.rights import ErasureOut
from workers.adapters.postgres import erasing, erasures, retention
from workers.adapters.postgres.again import decided
from workers.adapters.postgres.erasures import Batch
from workers.adapters.postgres.in_transactions import InTransactions
from workers.adapters.postgres.retention import Sweep
from workers.adapters.postgres.transaction import Transaction, sql

# What happened to jobs and who did what is only ever added to (migration 0013), except here.
_ERASING = sql("SELECT set_config('replique.erasing', 'on', true) AS said")


class Rights(InTransactions):
    """Each may raise `Unavailable`."""

    @asynccontextmanager
    async def _erasing(self) -> AsyncIterator[Transaction]:
        async with self._transaction() as tx:
            await tx.the(_ERASING)
            yield tx

    async def erase(self, org: OrgId, contact: str, who: str) -> ErasureOut:
        """Row 36. From the answer on nobody is known under that name; what is left is erased in the background.
        Asked again, the same erasure is answered, unless somebody has come under that name since: then that one is
        erased. Raises NotFound."""

        async def decide() -> ErasureOut:
            async with self._erasing() as tx:
                return await erasures.one(tx, org, await erasing.decide(tx, org, contact, who))

        return await decided(decide, erasing.WroteMeanwhile)

    async def erasure(self, org: OrgId, number: ErasureId) -> ErasureOut:
        """How far it is. Raises NotFound."""
        async with self._transaction() as tx:
            return await erasures.one(tx, org, number)

    async def advance(self) -> Batch | None:
        """The next batch of the erasure that waits longest. None: nothing is due."""
        async with self._erasing() as tx:
            return await erasures.advance(tx)

    async def sweep(self) -> Sweep | None:
        """The next conversations of an organisation with `retention_days`. None: nothing is due."""
        async with self._erasing() as tx:
            return await retention.sweep(tx)

    async def doomed(self) -> list[str]:
        """Keys of files whose bubble is gone."""
        async with self._transaction() as tx:
            return await erasures.doomed(tx)

    async def still_heard(self, key: str) -> bool:
        """Whether another bubble plays that file: the same words in the same voice are one file."""
        async with self._transaction() as tx:
            return await erasures.still_heard(tx, key)

    async def file_gone(self, key: str) -> None:
        async with self._transaction() as tx:
            await erasures.file_gone(tx, key)

    async def file_failed(self, key: str, error: str) -> None:
        """It is tried again in half a minute; until then its erasure names the store."""
        async with self._transaction() as tx:
            await erasures.file_failed(tx, key, error)
