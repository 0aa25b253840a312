"""Compiles conditions and asks them about a case. All contact with the CEL library is here."""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import cel

from pipelines.autoreply.strategy.check import check
from pipelines.autoreply.strategy.tokens import CelFault, tokens
from pipelines.autoreply.strategy.variables import VARIABLES

_PLACE = re.compile(r"<input>:(\d+):(\d+): (?:Syntax error: )?(.*)")


@dataclass(frozen=True, slots=True)
class Condition:
    """A compiled expression; it never changes, and may be asked from any thread."""

    program: cel.Program

    def holds(self, seen: cel.Context) -> bool | str:
        """True or false, or the sentence that says why neither."""
        try:
            answer = self.program.execute(seen)
        except Exception as error:  # noqa: BLE001 - whatever a condition of theirs does, the run goes on
            return _why(error)
        return answer if isinstance(answer, bool) else f"it is neither true nor false but a {type(answer).__name__}"


def compiled(expression: str) -> Condition:
    """Raises CelFault."""
    patterns = check(expression, VARIABLES)
    try:
        program = cel.compile(expression)
    except (ValueError, RuntimeError, TypeError) as error:
        raise _fault(str(error)) from error
    for pattern in patterns:
        try:
            cel.evaluate(f"''.matches({pattern.text})")
        except (ValueError, RuntimeError) as error:
            raise pattern.fault("this pattern is no regular expression that can be used (RE2 syntax)") from error
    return Condition(program)


def variables_of(expression: str) -> list[str]:
    """The variables that an accepted expression looks at."""
    return [name for name in cel.compile(expression).variables() if name in VARIABLES]


def false_part(expression: str, seen: cel.Context) -> str:
    """Of a compiled condition that does not hold, the first of the parts joined by && that does not."""
    for part in _joined(expression):
        if cel.compile(part).execute(seen) is False:
            return part
    return expression


def _joined(expression: str) -> Iterator[str]:
    """The parts between && outside of all brackets; the whole where || or ? : rule it."""
    depth, begin, parts = 0, 0, []
    for word in tokens(expression):
        if word.kind == "mark":
            depth += (word.text in "([{") - (word.text in ")]}")
        if depth == 0 and word.text in ("||", "?"):
            return
        if depth == 0 and (word.text == "&&" or word.kind == "end"):
            parts.append(expression[begin : word.start].strip())
            begin = word.start + 2
    yield from parts


def context(values: Mapping[str, Any]) -> cel.Context:
    """Made once for all conditions of a run: it costs more than asking one of them."""
    seen = cel.Context(variables=dict(values))
    for name, read in _ON_A_CLOCK.items():
        seen.add_function(name, _zoned(read))
    return seen


# CEL counts months, days of the month and days of the week from 0, and weeks from Sunday.
_ON_A_CLOCK: Mapping[str, Callable[[datetime], int]] = {
    "getFullYear": lambda moment: moment.year,
    "getMonth": lambda moment: moment.month - 1,
    "getDate": lambda moment: moment.day,
    "getDayOfWeek": lambda moment: moment.isoweekday() % 7,
    "getHours": lambda moment: moment.hour,
    "getMinutes": lambda moment: moment.minute,
}


def _zoned(read: Callable[[datetime], int]) -> Callable[..., int]:
    """The library reads clocks in UTC alone; the second argument of CEL's own functions names a zone. One that nobody
    knows (a condition may take it from a profile) changes nothing."""

    def reading(moment: datetime, zone: str | None = None) -> int:
        try:
            return read(moment if zone is None else moment.astimezone(ZoneInfo(zone)))
        except (ZoneInfoNotFoundError, ValueError, OSError):
            return read(moment)

    return reading


def _why(error: Exception) -> str:
    if isinstance(error, KeyError):
        return f"there is no {error.args[0]!r}; ask has(…) first"
    if isinstance(error, OverflowError):
        return "a number or a time in it is too large"
    first = str(error).partition("\n")[0].partition(". ")[0].rstrip(".")
    return f"{first[:1].lower()}{first[1:200]}" or type(error).__name__


def _fault(message: str) -> CelFault:
    found = _PLACE.search(message)
    if found:
        return CelFault(int(found[1]), int(found[2]), found[3].partition(" expecting ")[0])
    return CelFault(1, 1, " ".join(message.split())[:300])
