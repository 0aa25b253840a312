"""When a model is left alone, and who finds out whether it is back."""

from pipelines.llm.breaker import OwnBreaker, Rules, State
from tests.fakes import HAIKU, FrozenClock

RULES = Rules(failures=3, seconds=10)


def broken(times: int = 3) -> tuple[OwnBreaker, FrozenClock]:
    clock = FrozenClock()
    breaker = OwnBreaker(clock, RULES)
    for _ in range(times):
        breaker.failed(HAIKU)
    return breaker, clock


def test_failures_in_a_row_open_it() -> None:
    breaker, _ = broken(2)
    assert (breaker.admits(HAIKU), breaker.state(HAIKU)) == (True, State.CLOSED)

    assert breaker.failed(HAIKU)
    assert (breaker.admits(HAIKU), breaker.state(HAIKU)) == (False, State.OPEN)


def test_an_answer_between_them_or_a_long_time_begins_a_new_row() -> None:
    breaker, clock = broken(2)
    breaker.answered(HAIKU)
    assert not breaker.failed(HAIKU)
    clock.move(61)
    assert not any([breaker.failed(HAIKU), breaker.failed(HAIKU)])
    assert breaker.failed(HAIKU)


def test_after_its_time_one_call_finds_out() -> None:
    breaker, clock = broken()
    clock.move(10)

    assert breaker.state(HAIKU) is State.HALF_OPEN
    assert [breaker.admits(HAIKU) for _ in range(3)] == [True, False, False]
    clock.move(10)
    assert breaker.admits(HAIKU), "who had the probe never came back"


def test_its_answer_closes_it_and_its_failure_opens_it_for_twice_as_long() -> None:
    breaker, clock = broken()
    clock.move(10)
    assert breaker.admits(HAIKU)
    assert breaker.failed(HAIKU)
    clock.move(19)
    assert breaker.state(HAIKU) is State.OPEN
    clock.move(1)
    assert breaker.admits(HAIKU)
    assert breaker.answered(HAIKU)
    assert [breaker.admits(HAIKU) for _ in range(3)] == [True] * 3
    assert breaker.state(HAIKU) is State.CLOSED


def test_calls_that_were_out_when_it_opened_do_not_open_it_for_longer() -> None:
    breaker, clock = broken()
    assert not any(breaker.failed(HAIKU) for _ in range(20))
    clock.move(10)

    assert breaker.state(HAIKU) is State.HALF_OPEN


def test_the_longest_pause_is_a_minute_and_the_past_is_forgotten() -> None:
    assert [RULES.pause(n) for n in (1, 2, 3, 4, 99)] == [10, 20, 40, 60, 60]
    breaker, clock = broken()
    clock.move(901)
    assert breaker.state(HAIKU) is State.CLOSED
    assert not breaker.failed(HAIKU)
