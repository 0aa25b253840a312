"""What `GET /v1/costs` answers: the ledger, summed up."""

from datetime import datetime
from enum import StrEnum
from typing import Literal

from schemas.http import Body


class CostGroup(StrEnum):
    """What a line stands for. Days and months are those of the organisation's time zone."""

    ORG = "org"
    MODEL = "model"
    DAY = "day"
    MONTH = "month"
    PIPELINE = "pipeline"
    TASK = "task"
    CONVERSATION = "conversation"


class CostOut(Body):
    """Sums over the calls that ended. `key`: of the group, null for calls of no conversation, and in the total.

    `unpriced_calls`: of models without a known price, in no sum of money. `unknown_calls`: their answer was lost, and
    what had been set aside is their cost. `discarded_cost_usd`: the part of `cost_usd` whose run was thrown away.
    `cost` is in `currency`, at the rate that was kept with each call; both null where organisations with several
    currencies meet, or where some call has no rate. `cache_share`: of the input tokens, those that were read from the
    cache. `strong_share`: of the calls that write answers, those of the stronger route (`reply_strong`,
    `concierge_strong`); null where none writes one.
    """

    key: str | None
    org: str | None
    calls: int
    unpriced_calls: int
    unknown_calls: int
    input: int
    cache_read: int
    cache_write_5m: int
    cache_write_1h: int
    output: int
    cost_usd: str
    discarded_cost_usd: str
    cost_eur: str
    currency: str | None
    cost: str | None
    cache_share: float | None
    strong_share: float | None


class PlanUseOut(Body):
    """How an organisation stands in this month of its own. `limit` null: unlimited. `spent_usd` null: nothing counted
    yet. `margin`: what is left of the plan's `price`, as a share of it; null without a price or a rate."""

    org: str
    plan: str
    month: str
    used: int
    limit: int | None
    price: str | None
    currency: str
    spent_usd: str | None
    margin: float | None


class CostsOut(Body):
    """The dearest first, days and months in their order. `left_off`: lines beyond the limit; `total` has them too.
    `simulated`: a simulator plays the models here, and nobody is paid; what was spent before it came is in the sums."""

    group: CostGroup
    since: datetime
    until: datetime
    items: list[CostOut]
    next: Literal[None] = None
    left_off: int
    total: CostOut
    plans: list[PlanUseOut]
    simulated: bool = False
