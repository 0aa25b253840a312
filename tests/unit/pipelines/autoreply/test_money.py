"""When nothing is sold: money is short, or enough was asked for or spent within a day."""

from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest

from pipelines.autoreply.money import SELLING, Withheld, withheld
from schemas.agent import TraceKind
from schemas.conversation import Author, MoneyFacts
from schemas.decisions import Reply
from tests.builders import NOON, a_case, a_turn, dialogue
from tests.fakes import done, sending
from tests.replies import stage

SHORT = "the contact has said that money is short"


def test_distress_withholds_selling_and_tells_a_person() -> None:
    assert withheld(a_case("j'ai plus d'argent")) == Withheld(SELLING, SHORT, "money_distress")


def test_distress_of_earlier_today_withholds_and_was_told() -> None:
    turns = dialogue(("j'ai plus d'argent", "courage"), newest=("et toi ?",))

    assert withheld(a_case(turns=turns)) == Withheld(SELLING, SHORT, None)


def test_distress_of_yesterday_is_over_and_ours_never_counted() -> None:
    old = a_turn("j'ai plus d'argent", at=NOON - timedelta(hours=24), answered=True)
    ours = a_turn("i'm broke", position=2, author=Author.AI)

    assert withheld(a_case(turns=(old, ours, a_turn(position=3)))) == Withheld()


@pytest.mark.parametrize(
    ("limits", "money", "tools", "flag"),
    [
        ({}, MoneyFacts(), frozenset(), None),
        ({}, MoneyFacts(links_today=4), frozenset(), None),
        ({}, MoneyFacts(links_today=5), SELLING, "links_per_day"),
        ({"links_per_day": 0}, MoneyFacts(), SELLING, None),
        ({}, MoneyFacts(spent_24h=Decimal(10_000)), frozenset(), None),
        ({"spend_24h_flag": "100.00"}, MoneyFacts(spent_24h=Decimal("99.99")), frozenset(), None),
        ({"spend_24h_flag": "100.00"}, MoneyFacts(spent_24h=Decimal(100)), SELLING, "spend_24h"),
        ({"spend_24h_flag": "100.00"}, MoneyFacts(without_rate=("XAU",)), SELLING, "spend_24h"),
        ({}, MoneyFacts(without_rate=("XAU",)), frozenset(), None),
    ],
)
def test_what_is_counted(limits: dict[str, Any], money: MoneyFacts, tools: frozenset[str], flag: str | None) -> None:
    found = withheld(a_case(persona={"limits": limits}, money=money))

    assert (found.tools, found.flag) == (tools, flag)


async def test_the_reply_goes_its_way_and_carries_the_flag() -> None:
    on = stage(sending("courage à toi"), done())

    decision = await on.run(a_case("je suis à découvert"))

    assert isinstance(decision, Reply)
    assert decision.flag == "money_distress"
    assert [item["tools"] for item in on.trace(decision, TraceKind.NOTE)] == [["send_payment"]]
