"""Quiet hours are moments on the contact's clock, also on the two nights a year when the clocks change."""

from datetime import datetime
from zoneinfo import ZoneInfo

import pytest

from pipelines.delivery.quiet import quiet_until

NIGHT, PARIS = "22:00-08:00", "Europe/Paris"


@pytest.mark.parametrize(
    ("hours", "zone", "now", "until"),
    [
        (NIGHT, PARIS, "2026-11-30T20:59:59Z", None),
        (NIGHT, PARIS, "2026-11-30T21:00:00Z", "2026-12-01T07:00:00Z"),
        (NIGHT, PARIS, "2026-12-01T06:59:59Z", "2026-12-01T07:00:00Z"),
        (NIGHT, PARIS, "2026-12-01T07:00:00Z", None),
        (NIGHT, "America/New_York", "2026-12-01T07:00:00Z", "2026-12-01T13:00:00Z"),
        ("12:00–14:00", PARIS, "2026-11-30T12:30:00Z", "2026-11-30T13:00:00Z"),
        ("12:00-14:00", PARIS, "2026-11-30T13:00:00Z", None),
        ("00:00-08:00", PARIS, "2026-11-29T23:00:00Z", "2026-11-30T07:00:00Z"),
        ("09:00-09:00", PARIS, "2026-11-30T12:00:00Z", None),
        (None, PARIS, "2026-11-30T23:00:00Z", None),
        # The clocks go forward in the night: 08:00 comes an hour earlier.
        (NIGHT, PARIS, "2027-03-27T22:00:00Z", "2027-03-28T06:00:00Z"),
        # 02:30 does not exist in that night: over at 03:00.
        ("22:00-02:30", PARIS, "2027-03-28T00:59:00Z", "2027-03-28T01:00:00Z"),
        # A span that lies in the gap never comes.
        ("02:10-02:50", PARIS, "2027-03-28T01:00:00Z", None),
        # The clocks go back: the night is an hour longer.
        (NIGHT, PARIS, "2026-10-24T20:00:00Z", "2026-10-25T07:00:00Z"),
        # 02:30 comes twice: over at the first, and quiet no more when 02:00 is shown again.
        ("22:00-02:30", PARIS, "2026-10-25T00:29:00Z", "2026-10-25T00:30:00Z"),
        ("22:00-02:30", PARIS, "2026-10-25T01:10:00Z", None),
        # 02:30 to 03:30 begins at the first 02:30 and so takes two hours.
        ("02:30-03:30", PARIS, "2026-10-25T01:15:00Z", "2026-10-25T02:30:00Z"),
    ],
)
def test_quiet_until(hours: str | None, zone: str, now: str, until: str | None) -> None:
    found = quiet_until(hours, datetime.fromisoformat(now), ZoneInfo(zone))

    assert found == (None if until is None else datetime.fromisoformat(until))
