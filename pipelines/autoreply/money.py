"""When nothing may be sold to a contact: money is short, or enough was asked for or spent. Then a person is told."""

from dataclasses import dataclass
from datetime import timedelta

from pipelines.honesty import distress
from schemas.conversation import Author, Case, Flag, MoneyFacts

SELLING = frozenset({"send_payment"})
REMEMBERED = timedelta(hours=24)


@dataclass(frozen=True, slots=True)
class Withheld:
    """`tools` leave the palette; `reason` completes "... for this reply: {reason}". `flag`: why a person is told."""

    tools: frozenset[str] = frozenset()
    reason: str = ""
    flag: Flag | None = None


def withheld(case: Case) -> Withheld:
    """From the words of the window and from `case.money`. A person is told of distress that waits for a reply, and of
    what is counted when it keeps something from being sold; not of a persona that sells nothing.

    Money in a currency without a rate counts as enough: it may be any sum."""
    limits, money = case.persona.spec.limits, case.money
    if (told := _distress(case)) is not None:
        return Withheld(SELLING, "the contact has said that money is short", Flag.MONEY_DISTRESS if told else None)
    if limits.spend_24h_flag is not None and (money.spent_24h >= limits.spend_24h_flag or money.without_rate):
        return Withheld(SELLING, _spent(money), Flag.SPEND)
    if money.links_today >= limits.links_per_day:
        told_of = Flag.LINKS if limits.links_per_day else None
        return Withheld(SELLING, f"{limits.links_per_day} payment links a day are the most (links_per_day)", told_of)
    return Withheld()


def _spent(money: MoneyFacts) -> str:
    enough = "the contact has spent enough within 24 hours (spend_24h_flag)"
    return f"{enough}; no rate is known of {', '.join(money.without_rate)}" if money.without_rate else enough


def _distress(case: Case) -> bool | None:
    """True: it has just been said. False: it was, within a day. None: it was not."""
    said = [
        turn
        for turn in case.turns
        if turn.author is Author.CONTACT and case.now - turn.at < REMEMBERED and distress.money(turn.text) is not None
    ]
    return any(not turn.answered for turn in said) if said else None
