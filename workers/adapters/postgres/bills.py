"""What embeddings cost, in the ledger: calls that belong to an organisation and to no job."""

from typing import Any

from sqlalchemy import text

from schemas.ids import OrgId
from schemas.llm import Reservation, SettledCall
from schemas.settings import Settings
from workers.adapters.postgres import ledger
from workers.adapters.postgres.database import Database

PIPELINE = "memory"
NOBODY = 0
"""Instead of an organisation that is made by the very manifest whose texts are embedded."""

_PAY = text(ledger.PAY_ALONE)


class EmbeddingBills:
    def __init__(self, database: Database, settings: Settings) -> None:
        self._db = database
        self._eur_per_usd = settings.fx.eur_per_usd

    async def reserve(self, org: OrgId | None, reservation: Reservation) -> None:
        """One statement. Raises Unavailable."""
        await self._pay(org, ledger.calls(None, reservation))

    async def settle(self, org: OrgId | None, call: SettledCall) -> None:
        """One statement. Raises Unavailable."""
        await self._pay(org, ledger.calls(call, None))

    async def _pay(self, org: OrgId | None, calls: str) -> None:
        async with self._db.statement() as connection:
            await connection.execute(_PAY, {"calls": calls, **self._whose(org)})

    def _whose(self, org: OrgId | None) -> dict[str, Any]:
        """As `ledger.owner`, for who has no claim."""
        nothing = {"conversation": None, "job": None, "run": None, "fence": 0}
        return {"org": org or NOBODY, "pipeline": PIPELINE, "eur_per_usd": self._eur_per_usd, **nothing}
