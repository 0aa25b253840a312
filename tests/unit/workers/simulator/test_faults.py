"""Which requests a fault hits, and until when."""

import pytest

from workers.simulator.clock import VirtualClock
from workers.simulator.faults import FaultKind, Outages


def taken(
    outages: Outages, task: str = "reply", model: str = "claude-haiku-5-5", text: str = ""
) -> FaultKind | None:
    fault = outages.take(task, model, text)
    return fault.kind if fault else None


def test_without_a_number_or_a_span_the_next_request_alone_is_hit() -> None:
    outages = Outages(VirtualClock())
    outages.add({"kind": "overloaded"})

    assert [taken(outages), taken(outages)] == [FaultKind.OVERLOADED, None]


def test_a_span_in_real_time_does_not_end_with_the_virtual_clock() -> None:
    clock = VirtualClock()
    outages = Outages(clock)
    outages.add({"kind": "overloaded", "seconds": 60, "time": "real"})
    clock.advance(3_600)

    assert taken(outages) == FaultKind.OVERLOADED


def test_a_span_with_a_number_ends_with_the_first_of_both() -> None:
    clock = VirtualClock()
    outages = Outages(clock)
    outages.add({"kind": "empty", "seconds": 60, "next": 1})
    outages.add({"kind": "refusal", "seconds": 60, "next": 5})

    before = [taken(outages), taken(outages)]
    clock.advance(60)

    assert (before, taken(outages)) == ([FaultKind.EMPTY, FaultKind.REFUSAL], None)


@pytest.mark.parametrize("aim", [{"task": "review"}, {"model": "gpt"}, {"match": "mountain"}])
def test_what_the_fault_is_not_aimed_at_passes(aim: dict[str, str]) -> None:
    outages = Outages(VirtualClock())
    outages.add({"kind": "empty", **aim})

    assert taken(outages) is None
    assert taken(outages, "review", "gpt-6", "the mountain") == FaultKind.EMPTY
