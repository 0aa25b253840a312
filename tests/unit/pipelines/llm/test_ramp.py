"""How many may ask after a rate limit, and when the others come back."""

from collections import Counter

import pytest

from pipelines.llm import ramp


def test_one_then_two_then_four() -> None:
    assert [ramp.permits(step) for step in range(5)] == [1, 2, 4, 8, 16]


@pytest.mark.parametrize(("since", "step"), [(-3, -2), (-0.1, -1), (0, 0), (1.9, 0), (2, 1)])
def test_a_step_is_counted_from_the_providers_date(since: float, step: int) -> None:
    assert ramp.step_at(since, 2) == step


def test_two_hundred_sent_away_together_come_back_as_they_fit() -> None:
    """Thirty seconds before it opens: one in the first second after it, two in the next, …"""
    back = Counter(int(ramp.come_back(ticket, -30, 1, 0.5) - 30) for ticket in range(1, 201))

    assert back == {0: 1, 1: 2, 2: 4, 3: 8, 4: 16, 5: 32, 6: 64, 7: 73}


def test_nobody_is_told_to_come_back_in_the_step_that_is_full() -> None:
    assert ramp.come_back(1, 3.5, 1, 0) == 0.5


def test_a_crowd_does_not_wait_for_ever() -> None:
    assert ramp.come_back(10_000_000, 0, 1, 0.5) < 60
