"""Prices from genai-prices, whose table is part of the package: no network."""

from dataclasses import dataclass
from decimal import Decimal

from schemas.llm import Model, Usage
from workers.adapters.rates import exact

_PROBE = 1_000
"""Tokens per kind in a probe: far below any tier."""

TIERED_FROM = 90_000
"""Input tokens from which a model may charge another tier; such calls are rare and priced one by one."""


@dataclass(frozen=True, slots=True)
class Rates:
    """US dollars per token."""

    input: Decimal
    cache_read: Decimal
    cache_write_5m: Decimal
    cache_write_1h: Decimal
    output: Decimal

    def cost(self, usage: Usage) -> Decimal:
        return (
            usage.input * self.input
            + usage.cache_read * self.cache_read
            + usage.cache_write_5m * self.cache_write_5m
            + usage.cache_write_1h * self.cache_write_1h
            + usage.output * self.output
        )


class GenaiPrices:
    """A `PriceTable`. Rates are worked out once per model, as looking them up takes longer than sending a request."""

    def __init__(self) -> None:
        self._rates: dict[Model, Rates | None] = {}

    def cost(self, model: Model, usage: Usage) -> Decimal | None:
        if model not in self._rates:
            self._rates[model] = _rates(model)
        rates = self._rates[model]
        if rates is None or usage.total_input < TIERED_FROM:
            return None if rates is None else rates.cost(usage)
        return exact(model, usage)


def _rates(model: Model) -> Rates | None:
    kinds = ("input", "cache_read", "cache_write_5m", "cache_write_1h", "output")
    try:
        costs = [exact(model, Usage(**{kind: _PROBE})) for kind in kinds]
    except LookupError:
        return None
    return Rates(*(cost / _PROBE for cost in costs))
