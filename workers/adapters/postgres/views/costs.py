"""The ledger summed up, and how organisations stand to their plans."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from typing import Any

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

from pipelines.llm.plans import Plan, margin, plan_of
from pipelines.llm.routing import STRONGER
from schemas.costs import CostGroup, CostOut, CostsOut, PlanUseOut
from schemas.ids import OrgId
from schemas.money import as_decimal_text
from schemas.resources import OrganizationSpec
from schemas.settings import Settings
from workers.adapters.postgres.views.snapshot import Snapshots

_ZONE = "coalesce(o.spec ->> 'timezone', 'UTC')"
# A manifest may be refused after its texts were embedded: what that cost belongs to no organisation, and is shown.
_NAME = "coalesce(o.name, '(none)')"
_KEYS = {
    CostGroup.ORG: _NAME,
    CostGroup.MODEL: "l.provider || ':' || l.model",
    CostGroup.DAY: f"to_char(l.at AT TIME ZONE {_ZONE}, 'YYYY-MM-DD')",
    CostGroup.MONTH: f"to_char(l.at AT TIME ZONE {_ZONE}, 'YYYY-MM')",
    CostGroup.PIPELINE: "l.pipeline",
    CostGroup.TASK: "l.task",
    CostGroup.CONVERSATION: "c.name",
}
_IN_ORDER = frozenset({CostGroup.DAY, CostGroup.MONTH})
_SUMS = f"""count(*) AS calls, count(*) FILTER (WHERE l.state = 'settled' AND l.cost_usd IS NULL) AS unpriced,
count(*) FILTER (WHERE l.state = 'unknown') AS unknown, sum(l.input) AS input, sum(l.cache_read) AS cache_read,
sum(l.cache_write_5m) AS cache_write_5m, sum(l.cache_write_1h) AS cache_write_1h, sum(l.output) AS output,
coalesce(sum(l.cost_usd), 0) AS usd, coalesce(sum(l.cost_usd) FILTER (WHERE l.discarded), 0) AS discarded,
coalesce(sum(l.cost_usd * l.eur_per_usd), 0) AS eur, coalesce(sum(l.cost_usd * l.per_usd), 0) AS own,
CASE WHEN count(DISTINCT l.currency) = 1 AND count(*) FILTER (WHERE l.cost_usd <> 0 AND l.per_usd IS NULL) = 0
     THEN min(l.currency) END AS currency,
count(*) FILTER (WHERE l.task = ANY(ARRAY[{", ".join(f"'{task}'" for task in STRONGER.values())}])) AS strong,
count(*) FILTER (WHERE l.task = ANY(ARRAY[{", ".join(f"'{task}'" for pair in STRONGER.items() for task in pair)}]))
AS eligible"""


def _statement(group: CostGroup, of_one: bool) -> Any:
    """Two conversations of one name belong to two organisations, and so do two lines."""
    joined = "LEFT JOIN conversations c ON c.id = l.conversation_id" if group is CostGroup.CONVERSATION else ""
    owner = _NAME if group in (CostGroup.ORG, CostGroup.CONVERSATION) else "CAST(NULL AS text)"
    whose = "AND l.org_id = :org" if of_one else ""
    return text(
        f"SELECT {_KEYS[group]} AS key, {owner} AS org, GROUPING({_KEYS[group]}) AS total, {_SUMS} "
        f"FROM ledger l LEFT JOIN organizations o ON o.id = l.org_id {joined} "
        f"WHERE l.at >= :since AND l.at < :until AND l.state <> 'reserved' {whose} "
        f"GROUP BY GROUPING SETS (({_KEYS[group]}, {owner}), ())"
    )


_STATEMENTS = {(group, one): _statement(group, one) for group in CostGroup for one in (True, False)}


def _daily(of_one: bool) -> Any:
    """The same sums by organisation, day and model: days as one clock counts them, so that a plot has one of each."""
    whose = "AND l.org_id = :org" if of_one else ""
    return text(
        f"SELECT {_NAME} AS organization, CAST(l.at AT TIME ZONE CAST(:zone AS text) AS date) AS day, "
        f"{_KEYS[CostGroup.MODEL]} AS model, {_SUMS} FROM ledger l LEFT JOIN organizations o ON o.id = l.org_id "
        "WHERE l.at >= date_trunc('day', now() AT TIME ZONE CAST(:zone AS text)) AT TIME ZONE CAST(:zone AS text) "
        f"- make_interval(days => :days - 1) AND l.state <> 'reserved' {whose} GROUP BY 1, 2, 3 ORDER BY 2, 3, 1"
    )


_DAILY = {one: _daily(one) for one in (True, False)}
_BOUNDS = text(
    "SELECT coalesce(CAST(:since AS timestamptz), date_trunc('month', now(), 'UTC')) AS since, "
    "coalesce(CAST(:until AS timestamptz), now()) AS until"
)
_PLANS = """
SELECT o.id, o.name, o.spec, to_char(m.month, 'YYYY-MM') AS month, coalesce(q.used, 0) AS used, s.usd
FROM organizations o
CROSS JOIN LATERAL (
  SELECT CAST(date_trunc('month', now() AT TIME ZONE coalesce(o.spec ->> 'timezone', 'UTC')) AS date) AS month) AS m
LEFT JOIN quota_counts q ON q.org_id = o.id AND q.month = m.month
LEFT JOIN spending s ON s.org_id = o.id AND s.month = m.month
WHERE o.spec ->> 'plan' IS NOT NULL AND (CAST(:org AS bigint) IS NULL OR o.id = :org) ORDER BY o.name
"""


@dataclass(frozen=True, slots=True)
class Spent:
    """One organisation, day and model. `discarded` is the part of `usd` whose run was thrown away; `unpriced` calls
    are in no sum of money. `strong` of the `eligible` calls, whose task has a stronger route, took it."""

    organization: str
    day: date
    model: str
    calls: int
    usd: Decimal
    eur: Decimal
    input: int
    cache_read: int
    cache_write_5m: int
    cache_write_1h: int
    output: int
    discarded: Decimal
    unpriced: int
    strong: int
    eligible: int


class Costs:
    def __init__(self, snapshots: Snapshots, settings: Settings) -> None:
        self._snapshots = snapshots
        self._settings = settings

    async def sums(
        self, org: OrgId | None, group: CostGroup, since: datetime | None, until: datetime | None, limit: int
    ) -> CostsOut:
        """Of the calls that were begun in that time, by default this month of UTC; `org` None: of all organisations."""
        async with self._snapshots.open(longer=True) as connection:
            bounds = (await connection.execute(_BOUNDS, {"since": since, "until": until})).one()
            values = {"since": bounds.since, "until": bounds.until, **({} if org is None else {"org": org})}
            rows = (await connection.execute(_STATEMENTS[group, org is not None], values)).all()
            plans = await plan_uses(connection, self._settings, org)
        lines = sorted((row for row in rows if not row.total), key=_in_order if group in _IN_ORDER else _dearest)
        (total,) = (row for row in rows if row.total)
        return CostsOut(
            group=group,
            since=bounds.since,
            until=bounds.until,
            items=[_out(row) for row in lines[:limit]],
            left_off=max(len(lines) - limit, 0),
            total=_out(total),
            plans=[use for _, use in plans],
            simulated=self._settings.simulator,
        )

    async def daily(self, org: OrgId | None, days: int, zone: str) -> Sequence[Spent]:
        """The last `days` days as they are counted in `zone`, today's among them; `org` None: of all organisations."""
        values = {"days": days, "zone": zone, **({} if org is None else {"org": org})}
        async with self._snapshots.open(longer=True) as connection:
            rows = (await connection.execute(_DAILY[org is not None], values)).all()
        return [Spent(**{name: getattr(row, name) for name in Spent.__slots__}) for row in rows]


async def plan_uses(
    connection: AsyncConnection, settings: Settings, org: OrgId | None
) -> Sequence[tuple[OrgId, PlanUseOut]]:
    """Of every organisation with a plan, in this month."""
    rows = await connection.execute(text(_PLANS), {"org": org})
    found = []
    for row in rows:
        plan = plan_of(OrganizationSpec.model_validate(row.spec), settings.plans)
        if plan is not None:
            found.append((OrgId(row.id), _use(row, plan, settings)))
    return found


def _use(row: Any, plan: Plan, settings: Settings) -> PlanUseOut:
    left = margin(plan, row.usd or Decimal(0), settings.fx)
    return PlanUseOut(
        org=row.name,
        plan=plan.name,
        month=row.month,
        used=row.used,
        limit=plan.replies,
        price=None if plan.price is None else as_decimal_text(plan.price),
        currency=plan.currency,
        spent_usd=None if row.usd is None else as_decimal_text(row.usd),
        margin=None if left is None else float(left),
    )


def _dearest(row: Any) -> tuple[Any, ...]:
    return (-row.usd, row.key or "", row.org or "")


def _in_order(row: Any) -> tuple[Any, ...]:
    return (row.key,)


def _out(row: Any) -> CostOut:
    counted = {
        name: int(getattr(row, name) or 0)
        for name in ("calls", "input", "cache_read", "cache_write_5m", "cache_write_1h", "output")
    }
    read = sum(counted[name] for name in ("input", "cache_read", "cache_write_5m", "cache_write_1h"))
    return CostOut(
        key=row.key,
        org=row.org,
        **counted,
        unpriced_calls=row.unpriced,
        unknown_calls=row.unknown,
        cost_usd=as_decimal_text(row.usd),
        discarded_cost_usd=as_decimal_text(row.discarded),
        cost_eur=as_decimal_text(row.eur),
        currency=row.currency,
        cost=None if row.currency is None else as_decimal_text(row.own),
        cache_share=counted["cache_read"] / read if read else None,
        strong_share=row.strong / row.eligible if row.eligible else None,
    )
