"""What a contact was offered, has bought and got for nothing, as a run is told of it."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from decimal import Decimal
from itertools import groupby
from typing import Any

from pipelines.selling import exact
from schemas.conversation import MoneyFacts
from schemas.payments import Deal, Dealings, Price

Fact = Sequence[Any]
"""what, payment, bubble, media, amount, currency, at."""


def money_of(found: dict[str, Any], currency: str) -> MoneyFacts:
    spent = found["spent"] or {}
    return MoneyFacts(links_today=found["links"], spent_24h=Decimal(spent.get(currency, 0)))


def dealings_of(facts: Iterable[Fact]) -> Dealings:
    """Of facts in the order of their times. An offer is over once a media of it is bought; offered twice, it is told
    once, as it was offered last."""
    told = [(what, _deal(list(own))) for (what, _, _), own in groupby(facts, key=lambda fact: tuple(fact[:3]))]
    bought = {media for what, deal in told if what == "bought" for media in deal.media}
    proposed = {(deal.media, deal.price): deal for what, deal in told if what == "offered"}
    return Dealings(
        proposed=tuple(deal for deal in proposed.values() if bought.isdisjoint(deal.media)),
        bought=tuple(deal for what, deal in told if what == "bought"),
        free=tuple(deal for what, deal in told if what == "received"),
    )


def _deal(facts: Sequence[Fact]) -> Deal:
    *_, amount, currency, at = facts[0]
    price = None if amount is None else exact(Price(Decimal(amount), currency))
    return Deal(tuple(fact[3] for fact in facts), datetime.fromisoformat(at), price)
