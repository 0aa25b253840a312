"""The next start of a day's hours, also when the clocks change."""

from datetime import UTC, datetime, time
from zoneinfo import ZoneInfo

import pytest

from pipelines.hours import next_at, start_of, zone_of


@pytest.mark.parametrize(
    ("now", "start", "zone", "expected"),
    [
        ("2026-11-30T07:00+00:00", "09:00", "Europe/Paris", "2026-11-30T08:00+00:00"),
        ("2026-11-30T08:00+00:00", "09:00", "Europe/Paris", "2026-12-01T08:00+00:00"),
        ("2026-11-30T23:30+00:00", "00:00", "Europe/Paris", "2026-12-01T23:00+00:00"),
        # 02:30 does not exist on this Sunday: the first minute that does is 03:00.
        ("2027-03-27T23:00+00:00", "02:30", "Europe/Paris", "2027-03-28T01:00+00:00"),
        # 02:30 comes twice on this one: the first time.
        ("2026-10-24T23:00+00:00", "02:30", "Europe/Paris", "2026-10-25T00:30+00:00"),
        # Half an hour is skipped on this island.
        ("2026-10-03T12:00+00:00", "02:15", "Australia/Lord_Howe", "2026-10-03T15:30+00:00"),
    ],
    ids=["today", "tomorrow", "midnight", "gap", "fold", "half-hour-gap"],
)
def test_the_next_start(now: str, start: str, zone: str, expected: str) -> None:
    moment = next_at(time.fromisoformat(start), datetime.fromisoformat(now), ZoneInfo(zone))

    assert moment == datetime.fromisoformat(expected)
    assert moment.tzinfo is UTC


def test_hours_may_be_written_with_either_dash() -> None:
    assert (start_of("09:00-21:00"), start_of("10:30–19:00")) == (time(9), time(10, 30))


def test_the_first_zone_that_exists_is_taken() -> None:
    assert zone_of((None, "", "Mars/Olympus", "../etc/passwd", "Europe/Paris", "UTC")).key == "Europe/Paris"
    assert zone_of((None,)).key == "UTC"
