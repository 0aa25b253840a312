"""How long one waits, from a given chance."""

import pytest

from pipelines.delivery.pacing import next_attempt_seconds, typing_seconds
from schemas.resources import Pacing


@pytest.mark.parametrize(("chance", "seconds"), [(0.0, 1.6), (0.5, 2.0), (0.75, 2.2)])
def test_a_bubble_takes_as_long_as_typing_it(chance: float, seconds: float) -> None:
    pacing = Pacing(base_ms=800, per_char_ms=30, jitter=0.2)

    assert typing_seconds(pacing, "x" * 40, chance) == pytest.approx(seconds)


@pytest.mark.parametrize(
    ("attempt", "retry_after", "chance", "seconds"),
    [
        (1, None, 0.5, 1),
        (2, None, 0.5, 2),
        (3, None, 0.0, 3),
        (3, None, 0.5, 4),
        (5, 30.0, 0.5, 30),
        (5, 3.0, 0.5, 16),
        (2000, None, 0.5, 600),
        (1, 86_400.0, 0.5, 600),
    ],
)
def test_attempts_double_up_to_ten_minutes_and_honour_the_receiver(
    attempt: int, retry_after: float | None, chance: float, seconds: float
) -> None:
    assert next_attempt_seconds(attempt, retry_after, chance) == seconds
