"""Time that a test can push forward: the machine's own clock plus what was added to it."""

import time
from datetime import UTC, datetime, timedelta


class VirtualClock:
    """Runs at normal speed; `advance` jumps. Seconds since the simulator's start, or since its last reset."""

    def __init__(self) -> None:
        self.restart()

    def restart(self) -> None:
        self._origin = time.monotonic()
        self._began = datetime.now(UTC)
        self._added = 0.0

    def real(self) -> float:
        """Seconds that really passed."""
        return time.monotonic() - self._origin

    def now(self) -> float:
        return self.real() + self._added

    def advance(self, seconds: float) -> float:
        if seconds < 0:
            raise ValueError("time does not run backwards")
        self._added += seconds
        return self.now()

    def stamp(self, at: float | None = None) -> datetime:
        """The wall clock at virtual second `at` (default: now)."""
        return self._began + timedelta(seconds=self.now() if at is None else at)
