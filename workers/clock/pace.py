"""How long the clock sleeps between two looks."""

from workers.adapters.postgres.dispatch import Ahead

SHORTEST_SECONDS = 0.05
BUSY_SECONDS = 0.05
AWAY_SECONDS = (0.2, 0.5, 1.0, 2.0)
"""While the database is away: short at first, it may be a restart."""


class Pace:
    """Until the next due time, at most `look_seconds`.

    While rows wait that are due and over their organisation's cap, places come free at any moment: it looks often,
    and less often each time it finds none.
    """

    def __init__(self, look_seconds: float) -> None:
        self._longest = look_seconds
        self._busy = BUSY_SECONDS
        self._failures = 0

    def after(self, pushed: int, ahead: Ahead) -> float:
        self._failures = 0
        self._busy = min(self._busy * 2, self._longest) if ahead.waiting and not pushed else BUSY_SECONDS
        longest, shortest = (self._busy, BUSY_SECONDS) if ahead.waiting else (self._longest, SHORTEST_SECONDS)
        until_due = self._longest if ahead.seconds is None else ahead.seconds
        return max(shortest, min(longest, until_due))

    def after_failure(self) -> float:
        self._failures += 1
        return AWAY_SECONDS[min(self._failures, len(AWAY_SECONDS)) - 1]
