"""Prices, links, dates and numbers that nothing of this run gave."""

import re
from collections.abc import Iterator, Sequence
from datetime import timedelta

from pipelines.autoreply.issues import Issue
from pipelines.autoreply.rules import numbers
from pipelines.autoreply.rules.contact_data import PHONE
from pipelines.autoreply.rules.dates import FEASTS, Day, dates
from pipelines.autoreply.rules.links import Link, links
from pipelines.autoreply.rules.sources import Sources
from pipelines.text import fold
from schemas.decisions import Bubble

_MONEY = r"(?:€|\$|£|(?:euros?|eur|dollars?|usd|balles|bucks|pounds?|gbp|chf|francs?)\b)"
_PRICE = re.compile(
    rf"(?P<symbol>[€$£]) ?(?P<before>{numbers.NUMBER})|(?<!\d)(?P<after>{numbers.NUMBER}) ?{_MONEY}"
    rf"|\b(?P<words>(?:(?:{numbers.WORD})[ -](?:et |and )?){{1,8}}){_MONEY}"
)
_PERCENT = re.compile(rf"(?<!\d)(?P<number>{numbers.NUMBER}) ?%")
# Neither a number that somebody could hold us to, nor one at all: "24/7", "h24", "50/50", "18+", "mp3", "x2", "2e".
_IDIOM = re.compile(
    r"\bannees \d0\b|\b\d+ ?[hj]? ?/ ?\d+\b|\b\d+\+|\+\d{2}\b|\b24 ?h(?:eures)?\b(?! ?\d)|\b[a-z]+-?\d+\w*"
    r"|\b\d+(?:[a-gi-z]\w*|eme|er|th|st|nd|rd)\b"
    r"|\b1(?:0|00|000|0000|000000|[ .,']000(?:[ .,']000)?) (?:fois|bisous|mercis?|raisons|facons|choses|questions|ans|"
    r"times|kisses|thanks|reasons|ways|things|years)\b"
)
_CLOCK = re.compile(r"\b[012]?\d ?(?:h(?:eures?)?(?: ?[0-5]\d)?|:[0-5]\d)\b|\b\d{1,2} ?(?:am|pm)\b")
_PLAIN = re.compile(numbers.NUMBER)
FEWEST_IN_WORDS = 5
SMALL = 10
"""Up to here a number is a way of speaking: two coffees, ten minutes."""
_NEAR = re.compile(
    r"\b(?:lundi|mardi|mercredi|jeudi|vendredi|samedi|dimanche|demain|semaine|week-?end|monday|tuesday"
    r"|wednesday|thursday|"
    r"friday|saturday|sunday|tomorrow|week|weekend)\b"
)
WEEK = timedelta(days=7)


def invented(bubbles: Sequence[Bubble], sources: Sources) -> Iterator[Issue]:
    """What is recognised is cut out before the next kind is looked for: the digits of a date are no number."""
    for n, bubble in enumerate(bubbles):
        text = PHONE.sub(" ", fold(bubble.text))
        for rule, look, hint in _KINDS:
            strange, text = look(text, sources)
            if strange is not None:
                said = f"{strange!r} stands neither in the conversation, the persona, the profile nor a tool's answer."
                yield Issue(n, rule, "error", f"{said} {hint}")


def _links(text: str, sources: Sources) -> tuple[str | None, str]:
    found = list(links(text))
    strange = next((link for link in found if not _given(link, sources)), None)
    return (None if strange is None else text[strange.start : strange.end]), _cut(text, found)


def _given(link: Link, sources: Sources) -> bool:
    return link.address in sources.links or link.address in sources.hosts


def _dates(text: str, sources: Sources) -> tuple[str | None, str]:
    found = list(dates(text))
    strange = next((day for day in found if not _known(day, sources)), None)
    return (None if strange is None else text[strange.start : strange.end]), _cut(text, found)


def _known(day: Day, sources: Sources) -> bool:
    here = (day.day, day.month)
    if here in sources.days or here in FEASTS:
        return True
    today = sources.today
    reach = WEEK if _NEAR.search(sources.text) else timedelta(days=1)
    days = (today + timedelta(days=ahead) for ahead in range(-reach.days, reach.days + 1))
    return any((near.day, near.month) == here for near in days)


def _prices(text: str, sources: Sources) -> tuple[str | None, str]:
    strange = None
    for found in _PRICE.finditer(text):
        number = found["before"] or found["after"]
        values = numbers.readings(number) if number else _in_words(found["words"])
        if strange is None and 0.0 not in values and not values & sources.numbers:
            strange = found[0].strip()
    return strange, _PRICE.sub(" ", text)


def _in_words(words: str) -> frozenset[float]:
    """Small ones count as nothing: "à deux balles" is no offer."""
    value = numbers.in_words(words) or 0.0
    return frozenset({value if value >= FEWEST_IN_WORDS else 0.0})


def _numbers(text: str, sources: Sources) -> tuple[str | None, str]:
    for found in _PERCENT.finditer(text):
        values = numbers.readings(found["number"])
        if 100.0 not in values and not values & sources.numbers:
            return found[0], text
    rest = _CLOCK.sub(" ", _IDIOM.sub(" ", _PERCENT.sub(" ", text)))
    for found in _PLAIN.finditer(rest):
        values = numbers.readings(found[0])
        if all(value > SMALL for value in values) and not values & sources.numbers:
            return found[0], text
    return None, text


def _cut(text: str, found: Sequence[Link | Day]) -> str:
    for span in sorted(found, key=lambda span: span.start, reverse=True):
        text = f"{text[: span.start]} {text[span.end :]}"
    return text


_KINDS = (
    ("invented_link", _links, "Leave the link out."),
    ("invented_date", _dates, "Leave the date out, or ask."),
    ("invented_price", _prices, "Name no price, or look it up."),
    ("invented_number", _numbers, "Say it without the number."),
)
