"""Has the database been there long enough to believe that a lease which is over was abandoned?

While it is away nobody can renew. Were leases ended on its return, every run would start again while the first is
still going. So the clock ends none before it has itself seen the database, without a gap, for one lease time.
"""

SLACK_SECONDS = 2.0


class Unbroken:
    def __init__(self, lease_seconds: float, look_seconds: float) -> None:
        self._lease = lease_seconds
        self.gap = look_seconds + SLACK_SECONDS
        """Seconds without an answer that are no gap yet."""
        self._since: float | None = None
        self._last = 0.0

    def seen(self, now: float) -> None:
        """The database answered at `now`. Looks too far apart are a gap as well: nobody was watching."""
        if self._since is None or now - self._last > self.gap:
            self._since = now
        self._last = now

    def broken(self) -> None:
        self._since = None

    @property
    def long_enough(self) -> bool:
        return self._since is not None and self._last - self._since >= self._lease
