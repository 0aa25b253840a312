"""Quiet hours: when nothing may leave, on the contact's clock.

They are moments, not readings of a clock: from when it first shows their start until it next shows their end. So the
night on which the clocks go back is an hour longer, and no reading that comes twice opens or closes anything twice.
"""

from datetime import date, datetime, time, timedelta
from zoneinfo import ZoneInfo

from pipelines.hours import end_of, on_clock, start_of


def quiet_until(day_hours: str | None, now: datetime, zone: ZoneInfo) -> datetime | None:
    """When the quiet hours that `now` falls into end, in UTC; None when sending is allowed. `day_hours` like
    `"22:00-08:00"`; an empty span is none at all."""
    if day_hours is None:
        return None
    start, end = start_of(day_hours), end_of(day_hours)
    if start == end:
        return None
    today = now.astimezone(zone).date()
    for days in (-1, 0):
        first, last = _span(today + timedelta(days=days), start, end, zone)
        if first <= now < last:
            return last
    return None


def _span(day: date, start: time, end: time, zone: ZoneInfo) -> tuple[datetime, datetime]:
    """The quiet hours that begin on `day`."""
    last_day = day if start < end else day + timedelta(days=1)
    return on_clock(datetime.combine(day, start), zone), on_clock(datetime.combine(last_day, end), zone)
