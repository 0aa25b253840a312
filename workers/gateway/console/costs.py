"""What the models cost, by day, model and organisation, and how much of it the cache saved."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

from starlette.responses import Response
from starlette.routing import Route

from schemas.access import Role
from workers.adapters.postgres.views.costs import Spent
from workers.gateway.console.plots import Plot, shares, stacked
from workers.gateway.console.visits import Visit, open_to

_DAYS = (7, 30, 90)


@dataclass(slots=True)
class Sum:
    name: str
    shade: int = 0
    calls: int = 0
    usd: Decimal = Decimal(0)
    eur: Decimal = Decimal(0)
    read: int = 0
    sent: int = 0
    output: int = 0
    discarded: Decimal = Decimal(0)
    unpriced: int = 0
    strong: int = 0
    eligible: int = 0

    def add(self, row: Spent) -> None:
        self.calls += row.calls
        self.usd += row.usd
        self.eur += row.eur
        self.read += row.cache_read
        self.sent += row.input + row.cache_read + row.cache_write_5m + row.cache_write_1h
        self.output += row.output
        self.discarded += row.discarded
        self.unpriced += row.unpriced
        self.strong += row.strong
        self.eligible += row.eligible

    @property
    def cache_share(self) -> float | None:
        """Of the tokens sent, the part that was read from the cache."""
        return self.read / self.sent if self.sent else None

    @property
    def strong_share(self) -> float | None:
        """Of the calls that write answers, those of the stronger route."""
        return self.strong / self.eligible if self.eligible else None


@open_to(Role.OPERATOR, Role.OPS, scoped=False)
async def costs(visit: Visit) -> Response:
    wanted = visit.request.query_params.get("days", "30")
    days = int(wanted) if wanted in map(str, _DAYS) else 30
    session = visit.session
    spent = await visit.parts.costs.daily(session.org, days, session.timezone)
    models = _sums(spent, "model")
    for shade, model in enumerate(models):
        model.shade = shade
    today = session.now.astimezone(ZoneInfo(session.timezone)).date()
    dates = [today - timedelta(days=back) for back in reversed(range(days))]
    facts: dict[str, Any] = {
        "total": _total(spent),
        "models": models,
        "organizations": _sums(spent, "organization") if session.org is None else [],
        "spending": _spending(visit, spent, dates, models),
        "caching": _caching(visit, spent, dates),
        "days": days,
        "choices": _DAYS,
    }
    return visit.page("costs.html", page="costs", **facts)


def _sums(spent: Iterable[Spent], by: str) -> list[Sum]:
    """The dearest first."""
    found: dict[str, Sum] = {}
    for row in spent:
        name = getattr(row, by)
        found.setdefault(name, Sum(name)).add(row)
    return sorted(found.values(), key=lambda one: (-one.usd, one.name))


def _total(spent: Iterable[Spent]) -> Sum:
    total = Sum("")
    for row in spent:
        total.add(row)
    return total


def _spending(visit: Visit, spent: Iterable[Spent], dates: Sequence[date], models: Sequence[Sum]) -> Plot:
    shade = {model.name: model.shade for model in models}
    by_day: dict[date, dict[str, Decimal]] = defaultdict(lambda: defaultdict(Decimal))
    for row in spent:
        by_day[row.day][row.model] += row.usd
    words = visit.words
    days = [
        (
            _day(visit, day),
            [
                (shade[model], float(usd), f"{_day(visit, day)}, {model}: {words.money(float(usd), 'USD', 4)}")
                for model, usd in sorted(by_day[day].items(), key=lambda item: shade[item[0]])
            ],
        )
        for day in dates
    ]
    return stacked(days, lambda usd: words("unit.usd", sum=words.plain(usd)))


def _caching(visit: Visit, spent: Iterable[Spent], dates: Sequence[date]) -> Plot:
    by_day: dict[date, Sum] = defaultdict(lambda: Sum(""))
    for row in spent:
        by_day[row.day].add(row)
    return shares([(_day(visit, day), by_day[day].cache_share) for day in dates], visit.words.percent)


def _day(visit: Visit, day: date) -> str:
    return f"{day.day} {visit.words(f'month.{day.month}')}"


ROUTES = [Route("/costs", costs, methods=["GET"])]
