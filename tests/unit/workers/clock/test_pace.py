"""How long the clock sleeps, and when it believes that a lease was abandoned."""

from workers.adapters.postgres.dispatch import Ahead
from workers.clock.pace import Pace
from workers.clock.unbroken import Unbroken

NOTHING = Ahead(None, waiting=False)
OVER_CAP = Ahead(None, waiting=True)


def test_it_sleeps_until_the_next_due_time_and_no_longer_than_a_look() -> None:
    pace = Pace(0.5)

    assert [
        pace.after(0, NOTHING),
        pace.after(3, Ahead(0.1, waiting=False)),
        pace.after(0, Ahead(60, waiting=False)),
        pace.after(0, Ahead(-0.3, waiting=False)),
    ] == [0.5, 0.1, 0.5, 0.1]


def test_while_rows_wait_over_their_cap_it_looks_often_and_less_often_when_nothing_moves() -> None:
    pace = Pace(0.5)

    quiet = [pace.after(0, OVER_CAP) for _ in range(7)]

    assert quiet == [0.2, 0.4, 0.5, 0.5, 0.5, 0.5, 0.5]
    assert pace.after(1, OVER_CAP) == 0.1
    assert pace.after(0, Ahead(-1.0, waiting=True)) == 0.1


def test_a_database_that_is_away_is_asked_less_and_less() -> None:
    pace = Pace(0.5)

    assert [pace.after_failure() for _ in range(6)] == [0.2, 0.5, 1.0, 2.0, 2.0, 2.0]
    pace.after(0, NOTHING)
    assert pace.after_failure() == 0.2


def test_leases_end_after_one_lease_time_without_a_gap() -> None:
    unbroken = Unbroken(lease_seconds=15, look_seconds=0.5)

    for second in range(15):
        unbroken.seen(100.0 + second)
    early = unbroken.long_enough
    unbroken.seen(115.0)

    assert (early, unbroken.long_enough) == (False, True)


def test_an_outage_or_a_pause_of_the_clock_itself_begins_the_count_again() -> None:
    for gap in ("outage", "pause"):
        unbroken = Unbroken(lease_seconds=15, look_seconds=0.5)
        for second in range(20):
            unbroken.seen(100.0 + second)
        if gap == "outage":
            unbroken.broken()
        unbroken.seen(120.0 if gap == "outage" else 140.0)

        assert not unbroken.long_enough, gap
