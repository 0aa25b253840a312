"""What embeddings cost, in the ledger: calls that belong to an organisation and to no job."""

from sqlalchemy import text

from schemas.ids import OrgId
from schemas.llm import Reservation, SettledCall
from schemas.resources import OrganizationSpec
from schemas.settings import Settings
from workers.adapters.postgres import ledger
from workers.adapters.postgres.database import Database

PIPELINE = "memory"
NOBODY = OrgId(0)
"""Where no organisation is known."""

_PAY = text(ledger.PAY_ALONE)
_SPEC = text("SELECT spec FROM organizations WHERE id = :org")


class EmbeddingBills:
    """Counted in the organisation's month, and never refused: a text costs a millionth of a reply."""

    def __init__(self, database: Database, settings: Settings) -> None:
        self._db = database
        self._settings = settings

    async def reserve(self, org: OrgId | None, reservation: Reservation) -> None:
        """Raises Unavailable."""
        await self._pay(org, None, reservation)

    async def settle(self, org: OrgId | None, call: SettledCall) -> None:
        """Raises Unavailable."""
        await self._pay(org, call, None)

    async def _pay(self, org: OrgId | None, settled: SettledCall | None, reserved: Reservation | None) -> None:
        async with self._db.statement() as connection:
            row = (await connection.execute(_SPEC, {"org": org})).first()
            spec = OrganizationSpec.model_validate(row.spec) if row else OrganizationSpec()
            whose = ledger.Owner(org or NOBODY, spec, PIPELINE, conversation=None, job=None, run=None, fence=0)
            bound = ledger.values(self._settings, whose, settled, reserved)
            await connection.execute(_PAY, bound | {"budgeted": False})
