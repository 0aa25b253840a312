"""How long the clock sleeps between two looks."""

from workers.adapters.postgres.dispatch import Ahead

REST_SECONDS = 0.1
"""Between two looks, whatever falls due meanwhile: a look costs milliseconds, and takes all that is due by then. At
200 replies a second it would otherwise look 200 times (docs/decisions/due-times.md)."""
AWAY_SECONDS = (0.2, 0.5, 1.0, 2.0)
"""While the database is away: short at first, it may be a restart."""


class Pace:
    """Until the next due time, at most `look_seconds`.

    While rows wait that are due and over their organisation's cap, places come free at any moment: it looks often,
    and less often each time it finds none.
    """

    def __init__(self, look_seconds: float) -> None:
        self._longest = look_seconds
        self._busy = REST_SECONDS
        self._failures = 0

    def after(self, pushed: int, ahead: Ahead) -> float:
        self._failures = 0
        self._busy = min(self._busy * 2, self._longest) if ahead.waiting and not pushed else REST_SECONDS
        longest = self._busy if ahead.waiting else self._longest
        until_due = self._longest if ahead.seconds is None else ahead.seconds
        return max(REST_SECONDS, min(longest, until_due))

    def after_failure(self) -> float:
        self._failures += 1
        return AWAY_SECONDS[min(self._failures, len(AWAY_SECONDS)) - 1]
