"""The next start of a day's hours, also when the clocks change."""

from datetime import UTC, datetime, time
from zoneinfo import ZoneInfo

import pytest

from pipelines.hours import best_hour, is_open, next_at, start_of, zone_of


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


@pytest.mark.parametrize(
    ("moment", "hours", "expected"),
    [
        ("2026-11-30T08:00+00:00", "09:00-21:00", True),
        ("2026-11-30T20:00+00:00", "09:00-21:00", False),
        ("2026-11-30T23:30+00:00", "18:00-02:00", True),
        # 02:30 was skipped: 03:00 stands for it, also for hours that are over by then. An hour later nothing does.
        ("2027-03-28T01:00+00:00", "02:00-03:00", True),
        ("2027-03-28T02:00+00:00", "02:00-03:00", False),
        # The hour that comes twice is the same hour both times, and stands for no other.
        ("2026-10-25T01:30+00:00", "02:00-03:00", True),
        ("2026-10-25T01:30+00:00", "03:00-04:00", False),
    ],
    ids=["start", "end", "over-midnight", "gap", "after-the-gap", "fold", "fold-is-no-gap"],
)
def test_whether_it_is_within_the_hours(moment: str, hours: str, expected: bool) -> None:
    assert is_open(hours, datetime.fromisoformat(moment), ZoneInfo("Europe/Paris")) is expected


def test_hours_may_be_written_with_either_dash() -> None:
    assert (start_of("09:00-21:00"), start_of("10:30–19:00")) == (time(9), time(10, 30))


def test_the_first_zone_that_exists_is_taken() -> None:
    assert zone_of((None, "", "Mars/Olympus", "../etc/passwd", "Europe/Paris", "UTC")).key == "Europe/Paris"
    assert zone_of((None,)).key == "UTC"


@pytest.mark.parametrize(
    ("day_hours", "written", "expected"),
    [
        ("09:00-21:00", ["11-01T19:10", "11-02T19:40", "11-03T08:15"], "20:00"),
        ("09:00-21:00", ["11-02T18:10", "11-01T10:10"], "19:00"),
        ("09:00-21:00", ["11-01T10:10", "11-02T09:10"], "10:00"),
        ("09:00-21:00", ["11-01T02:10", "11-01T02:20", "11-01T20:00", "11-01T12:59"], "13:00"),
        ("09:00-21:00", ["11-01T02:10"], "09:00"),
        ("09:00-21:00", [], "09:00"),
        ("09:30-21:00", ["11-01T08:45", "11-01T08:15"], "09:30"),
        ("18:00–02:00", ["11-01T00:10", "11-02T00:10", "11-01T12:00", "11-02T12:00", "11-03T12:00"], "01:00"),
        ("09:00-21:00", ["07-01T17:30", "07-02T17:30", "11-01T17:30"], "19:00"),
    ],
    ids=[
        "most",
        "newest-of-equals",
        "newest-though-earlier",
        "outside",
        "none-inside",
        "nothing-written",
        "half-past",
        "over-midnight",
        "summer-and-winter",
    ],
)
def test_the_best_hour_is_that_in_which_the_contact_writes_most(
    day_hours: str, written: list[str], expected: str
) -> None:
    """The times are in UTC; the contact lives in Paris."""
    moments = [datetime.fromisoformat(f"2026-{moment}+00:00") for moment in written]

    assert best_hour(moments, day_hours, ZoneInfo("Europe/Paris")) == time.fromisoformat(expected)
