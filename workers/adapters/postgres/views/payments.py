"""One payment as its payer sees it: for the page on which no money moves."""

from dataclasses import dataclass
from decimal import Decimal

from sqlalchemy import text

from pipelines.selling import exact
from schemas.errors import NotFound
from schemas.ids import PaymentId
from schemas.money import Price
from schemas.payments import PaymentState
from workers.adapters.postgres.views.snapshot import Snapshots

_ONE = text(
    "SELECT p.state, p.amount, p.currency, jsonb_array_length(p.media_ids) AS media, "
    "COALESCE(NULLIF(r.spec ->> 'display_name', ''), r.name) AS seller "
    "FROM payments p JOIN personas r ON r.id = p.persona_id WHERE p.id = :payment AND p.provider = 'test'"
)


@dataclass(frozen=True, slots=True)
class Bill:
    state: PaymentState
    price: Price
    media: int
    seller: str


class Payments:
    def __init__(self, snapshots: Snapshots) -> None:
        self._snapshots = snapshots

    async def bill(self, payment: PaymentId) -> Bill:
        """Raises NotFound."""
        async with self._snapshots.open() as connection:
            row = (await connection.execute(_ONE, {"payment": payment})).one_or_none()
        if row is None:
            raise NotFound("no such payment")
        price = exact(Price(Decimal(row.amount), row.currency))
        return Bill(PaymentState(row.state), price, row.media, row.seller)
