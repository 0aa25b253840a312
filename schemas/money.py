"""Amounts and currencies in documents: decimal strings, never binary fractions."""

import re
from dataclasses import dataclass
from decimal import Decimal
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, WithJsonSchema

_MONEY = r"^\d{1,10}(\.\d{1,4})?$"

_CENT = Decimal("0.01")

Currency = Annotated[str, Field(pattern=r"^[A-Z]{3}$")]


def _decimal_text(value: Any) -> Any:
    """A JSON number is a binary fraction to most who write it: 0.1 is not what they meant."""
    if isinstance(value, Decimal) or (isinstance(value, str) and re.fullmatch(_MONEY, value, re.ASCII)):
        return value
    raise ValueError('money is a decimal string of at most ten digits and four decimals, e.g. "0.50"')


Money = Annotated[
    Decimal,
    Field(strict=False, ge=0, max_digits=14, decimal_places=4, allow_inf_nan=False),
    BeforeValidator(_decimal_text),
    WithJsonSchema({"type": "string", "pattern": _MONEY}),
]


@dataclass(frozen=True, slots=True)
class Price:
    amount: Decimal
    currency: str

    def __str__(self) -> str:
        return f"{self.text} {self.currency}"

    @property
    def text(self) -> str:
        """Two decimals, or as many as it needs: `12.00`, `0.125`."""
        cents = self.amount.quantize(_CENT)
        return f"{cents:f}" if cents == self.amount else f"{self.amount.normalize():f}"


def as_decimal_text(amount: Decimal | None) -> str:
    """Without the zeros that a column's scale adds: `0.0125`, not `0.0125000000`. None is `0`."""
    plain = format(amount or Decimal(0), "f")
    return plain.rstrip("0").rstrip(".") if "." in plain else plain
