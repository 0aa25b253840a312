"""What a condition may cost, counted while it is read.

CEL has no loops; what could take long is bounded here. Nothing is evaluated inside a comprehension more often than a
list that was given is long: comprehensions neither nest nor follow one another, nor go through joined lists, and join
nothing themselves. Patterns are literals that are tried out first.
"""

import re
from dataclasses import dataclass, field

from pipelines.autoreply.strategy.tokens import Token
from pipelines.autoreply.strategy.types import DYN, NUMBERS

MAX_PATTERNS = 5
MAX_PATTERN = 200
MAX_COMPREHENSIONS = 2
MAX_LOOKED_INTO = 2
COUNTED = NUMBERS | {"timestamp", "duration"}
"""Added, these stay as large as they are."""

_LARGE = re.compile(r"\)\s*\{|\{\s*\d*\s*,?\s*(?:\d{3,}|[6-9]\d)")


@dataclass(slots=True)
class Bounds:
    """All methods raise CelFault. `inside`: of a comprehension."""

    patterns: list[Token] = field(default_factory=list)
    comprehensions: int = 0
    joins: int = 0
    """How many `+` so far may have made something longer than what was given."""
    looked_into: int = 0
    """How often, inside comprehensions, a list or map from outside is named: it may be compared for every item."""

    @property
    def so_far(self) -> tuple[int, int]:
        return self.comprehensions, self.joins

    def join(self, mark: Token, *, inside: bool) -> None:
        if inside:
            raise mark.fault("+ inside a comprehension adds numbers alone, as in double(x.a) + double(x.b)")
        self.joins += 1

    def comprehension(self, name: Token, before: tuple[int, int], *, inside: bool) -> None:
        """`before`: as it was before what this comprehension goes through was read."""
        comprehensions, joins = before
        if inside:
            raise name.fault(f"{name.text} stands inside another of its kind, which could take long")
        if self.comprehensions > comprehensions:
            raise name.fault(f"{name.text} goes through what another of its kind made, which could take long")
        if self.joins > joins:
            raise name.fault(f"{name.text} goes through what + joined, which could take long; ask each list on its own")
        self.comprehensions += 1
        if self.comprehensions > MAX_COMPREHENSIONS:
            raise name.fault(f"too many comprehensions: at most {MAX_COMPREHENSIONS}")

    def look(self, variable: Token) -> None:
        self.looked_into += 1
        if self.looked_into > MAX_LOOKED_INTO:
            raise variable.fault(f"comprehensions name lists and maps from outside at most {MAX_LOOKED_INTO} times")

    def pattern(self, name: Token, pattern: Token, *, literal: bool, inside: bool) -> None:
        if not literal:
            raise pattern.fault("a pattern is written out here: it cannot come from elsewhere")
        if inside:
            raise name.fault("matches stands inside a comprehension, which could take long; use contains or ==")
        if len(pattern.text) > MAX_PATTERN or _LARGE.search(pattern.text):
            raise pattern.fault(
                f"the pattern is too large: at most {MAX_PATTERN} characters, counts up to 59, none of a group"
            )
        self.patterns.append(pattern)
        if len(self.patterns) > MAX_PATTERNS:
            raise name.fault(f"too many patterns: at most {MAX_PATTERNS}")


def made(body: Token, kind: str) -> None:
    """What `map` makes of an item: all that it has made so far is copied for every item. Raises CelFault."""
    if kind in ("list", "map", DYN):
        raise body.fault("map makes texts, numbers or times: string(x.name), double(x.sum)")
