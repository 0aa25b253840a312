"""What the models cost: by day and model, and by organisation."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import Any

from sqlalchemy import text

from schemas.ids import OrgId
from workers.adapters.postgres.views.snapshot import Snapshots

# Through organizations, because the index on the ledger's time starts with its organisation.
_ROWS = text(
    "SELECT o.name AS organization, o.id, l.* FROM organizations o CROSS JOIN LATERAL ("
    "SELECT (x.at AT TIME ZONE CAST(:zone AS text))::date AS day, x.model, count(*) AS calls, "
    "coalesce(sum(x.cost_usd), 0) AS usd, coalesce(sum(x.cost_usd * x.eur_per_usd), 0) AS eur, "
    "sum(x.input) AS input, sum(x.cache_read) AS cache_read, sum(x.cache_write_5m + x.cache_write_1h) AS cache_write, "
    "sum(x.output) AS output, coalesce(sum(x.cost_usd) FILTER (WHERE x.discarded), 0) AS discarded, "
    "count(*) FILTER (WHERE x.cost_usd IS NULL) AS unpriced "
    "FROM ledger x WHERE x.org_id = o.id AND x.state <> 'reserved' "
    "AND x.at >= date_trunc('day', clock_timestamp() AT TIME ZONE CAST(:zone AS text)) "
    "AT TIME ZONE CAST(:zone AS text) - make_interval(days => :days - 1) GROUP BY 1, 2) l "
    "WHERE CAST(:org AS bigint) IS NULL OR o.id = CAST(:org AS bigint) ORDER BY l.day, l.model, o.name"
)


@dataclass(frozen=True, slots=True)
class Spent:
    """One organisation, day and model. `discarded` is the part of `usd` whose run was thrown away; `unpriced` calls
    are in no sum of money."""

    organization: str
    day: date
    model: str
    calls: int
    usd: Decimal
    eur: Decimal
    input: int
    cache_read: int
    cache_write: int
    output: int
    discarded: Decimal
    unpriced: int


class Spending:
    def __init__(self, snapshots: Snapshots) -> None:
        self._snapshots = snapshots

    async def of(self, org: OrgId | None, days: int, zone: str) -> Sequence[Spent]:
        """The last `days` days as they are counted in `zone`, today's among them."""
        async with self._snapshots.open(longer=True) as connection:
            rows = (await connection.execute(_ROWS, {"org": org, "days": days, "zone": zone})).all()
        return [_spent(row) for row in rows]


def _spent(row: Any) -> Spent:
    return Spent(**{name: getattr(row, name) for name in Spent.__slots__})
