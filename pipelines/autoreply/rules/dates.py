"""Days of the calendar in folded text: `12 mars`, `March 12th`, `12/03/2027`, `2027-03-12`, `le 12/03`."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

_MONTHS = {
    "janvier": 1, "janv": 1, "january": 1, "jan": 1, "fevrier": 2, "fev": 2, "february": 2, "feb": 2, "mars": 3,
    "march": 3, "avril": 4, "april": 4, "apr": 4, "mai": 5, "may": 5, "juin": 6, "june": 6, "jun": 6, "juillet": 7,
    "juil": 7, "july": 7, "jul": 7, "aout": 8, "august": 8, "aug": 8, "septembre": 9, "september": 9, "sept": 9,
    "sep": 9, "octobre": 10, "october": 10, "oct": 10, "novembre": 11, "november": 11, "nov": 11, "decembre": 12,
    "december": 12, "dec": 12,
}  # fmt: skip
_NAME = "|".join(sorted(_MONTHS, key=len, reverse=True))
_WRITTEN = re.compile(
    rf"(?<![\d.,])(?P<a>[0-3]?\d)(?:er|st|nd|rd|th)?(?: of)? (?P<am>{_NAME})\b"
    rf"|\b(?P<bm>{_NAME}) (?P<b>[0-3]?\d)(?:st|nd|rd|th)?(?![\d%€$:h])"
    r"|(?<!\d)(?P<y>(?:19|20)\d\d)-(?P<ym>[01]\d)-(?P<yd>[0-3]\d)(?!\d)"
    r"|(?<!\d)(?P<c>[0-3]?\d)[/.](?P<cm>[01]?\d)[/.](?:(?:19|20)?\d\d)(?!\d)"
    r"|\b(?:le|du|au|on|until|by) (?P<d>[0-3]?\d)/(?P<dm>[01]?\d)(?![/\d])"
)

FEASTS = frozenset({
    (1, 1), (6, 1), (2, 2), (14, 2), (8, 3), (1, 4), (1, 5), (8, 5), (21, 6), (4, 7), (14, 7), (15, 8), (31, 10),
    (1, 11), (11, 11), (6, 12), (24, 12), (25, 12), (26, 12), (31, 12),
})  # fmt: skip
"""Days that everybody knows."""


@dataclass(frozen=True, slots=True)
class Day:
    start: int
    end: int
    day: int
    month: int


def dates(text: str) -> Iterator[Day]:
    for found in _WRITTEN.finditer(text):
        day, month = _read(found)
        if 1 <= month <= 12 and 1 <= day <= 31:
            yield Day(found.start(), found.end(), day, month)


def _read(found: re.Match[str]) -> tuple[int, int]:
    for day, month in (("a", "am"), ("b", "bm")):
        if found[day]:
            return int(found[day]), _MONTHS[found[month]]
    return next(
        (int(found[day]), int(found[month])) for day, month in (("yd", "ym"), ("c", "cm"), ("d", "dm")) if found[day]
    )
