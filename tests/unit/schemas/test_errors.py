"""What whoever comes too late reads: what was found, who moved it there and when, and what to do."""

from datetime import UTC, datetime

import pytest

from schemas.errors import TooLate

AT = datetime(2026, 11, 30, 3, 28, 5, tzinfo=UTC)


@pytest.mark.parametrize(
    ("late", "sentence"),
    [
        (
            TooLate("held", "anna", AT),
            "it is held, moved there by anna at 2026-11-30 03:28:05 UTC; approve, hold, release or cancel it",
        ),
        (TooLate("sent"), "it is sent; nothing of it can be changed any more"),
        (
            TooLate("human", "anna", AT),
            "it is with a person, moved there by anna at 2026-11-30 03:28:05 UTC; resume it first, or leave it to them",
        ),
        (TooLate("failed", newer_job="job_9"), "it is failed; see job_9"),
        (TooLate("leaving", reason="paused"), "it is leaving (paused); look at it again"),
    ],
)
def test_it_says_what_was_found_and_what_to_do(late: TooLate, sentence: str) -> None:
    assert late.sentence == f"too late: {sentence}"
