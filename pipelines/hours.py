"""Hours of a contact's day, right also on the two days a year when the clocks change."""

from collections import Counter
from collections.abc import Iterable
from datetime import UTC, datetime, time, timedelta
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

_MINUTE, _HOUR = timedelta(minutes=1), timedelta(hours=1)
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


def is_within(day_hours: str, clock: time) -> bool:
    """From the start on and before the end; hours like `"18:00-02:00"` go over midnight."""
    start, end = start_of(day_hours), end_of(day_hours)
    if start <= end:
        return start <= clock < end
    return clock >= start or clock < end


def is_open(day_hours: str, moment: datetime, zone: ZoneInfo) -> bool:
    """Whether it is within `day_hours` on a clock in `zone`. In the hour after that clock went forward, what it skipped
    counts too: a time in the gap is kept in the first minute after."""
    local = moment.astimezone(zone)
    before = (moment - _HOUR).astimezone(zone)
    skipped = (local.utcoffset() or timedelta()) - (before.utcoffset() or timedelta())
    return is_within(day_hours, local.time()) or is_within(day_hours, (local - max(skipped, timedelta())).time())


def best_hour(written: Iterable[datetime], day_hours: str, zone: ZoneInfo) -> time:
    """The hour of the day, inside `day_hours`, in which most of these moments lie on a clock in `zone`: its beginning,
    or that of `day_hours` when it begins before. Of equal hours the one with the newest moment, as habits change. The
    start of `day_hours` when no moment lies inside."""
    clocks = [moment.astimezone(zone).time() for moment in sorted(written, reverse=True)]
    hours = Counter(time(clock.hour) for clock in clocks if is_within(day_hours, clock))
    if not hours:
        return start_of(day_hours)
    (hour, _), *_ = hours.most_common(1)  # of equals the first met, which is the newest
    return hour if is_within(day_hours, hour) else start_of(day_hours)


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
