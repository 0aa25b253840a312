"""Hours of a contact's day, right also on the two days a year when the clocks change."""

from collections.abc import Iterable
from datetime import UTC, datetime, time, timedelta
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

_MINUTE = timedelta(minutes=1)
_LONGEST_GAP = 24 * 60 + 1
"""Minutes. One island once skipped a whole day."""


def zone_of(names: Iterable[str | None]) -> ZoneInfo:
    """The first name that is a zone; UTC when none is."""
    for name in names:
        if name:
            try:
                return ZoneInfo(name)
            except (ZoneInfoNotFoundError, ValueError, OSError):
                continue
    return ZoneInfo("UTC")


def start_of(day_hours: str) -> time:
    """`"09:00-21:00"` begins at 09:00."""
    return time.fromisoformat(day_hours[:5])


def end_of(day_hours: str) -> time:
    """`"09:00-21:00"` ends at 21:00."""
    return time.fromisoformat(day_hours[-5:])


def next_at(start: time, now: datetime, zone: ZoneInfo) -> datetime:
    """The next moment after `now` at which a clock in `zone` shows `start`, in UTC; see `on_clock`."""
    today = now.astimezone(zone).date()
    for days in range(3):
        moment = on_clock(datetime.combine(today + timedelta(days=days), start), zone)
        if moment > now:
            return moment
    raise AssertionError("a day starts every day")


def on_clock(local: datetime, zone: ZoneInfo) -> datetime:
    """When a clock in `zone` shows `local` (naive), in UTC. Where the clock skips it, the first minute it shows after;
    where it shows it twice, the first time."""
    for _ in range(_LONGEST_GAP):
        moment = local.replace(tzinfo=zone, fold=0).astimezone(UTC)
        if moment.astimezone(zone).replace(tzinfo=None, fold=0) == local:
            return moment
        local += _MINUTE
    raise AssertionError("no gap is longer than a day")
