"""What an organisation's plan allows and costs, and whether its spending is counted by the month."""

from dataclasses import dataclass
from decimal import Decimal

from schemas.groups import FxSettings, PlanSettings
from schemas.resources import OrganizationSpec


@dataclass(frozen=True, slots=True)
class Plan:
    """`replies`: AI replies a calendar month; None is unlimited. `price`: a month, in `currency`; None: not sold."""

    name: str
    replies: int | None
    price: Decimal | None
    currency: str


def plan_of(spec: OrganizationSpec, plans: PlanSettings) -> Plan | None:
    """None: no plan, so nothing is counted and nothing is limited."""
    if spec.plan is None:
        return None
    terms = {
        "starter": (plans.starter_replies, plans.starter_price),
        "pro": (plans.pro_replies, plans.pro_price),
        "enterprise": (plans.enterprise_replies, plans.enterprise_price),
    }
    replies, price = terms[spec.plan]
    return Plan(spec.plan, replies, price, plans.currency)


def is_metered(spec: OrganizationSpec, plans: PlanSettings) -> bool:
    """Its spending of the month is counted as it happens: a budget is kept to by it, a margin is told from it."""
    plan = plan_of(spec, plans)
    return spec.budgets.per_month is not None or (plan is not None and plan.price is not None)


def margin(plan: Plan, spent_usd: Decimal, fx: FxSettings) -> Decimal | None:
    """What is left of a month's price after its model calls, as a share of it; below 0 when they cost more. None:
    nothing is charged, or no rate of the price's currency is known."""
    rate = fx.rate(plan.currency)
    if rate is None or not plan.price:
        return None
    return 1 - spent_usd * rate / plan.price
