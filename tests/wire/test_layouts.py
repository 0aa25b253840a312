"""What the prompt's layout saves, in all cases it was made for: our own requests, billed by the simulator's cache."""

from datetime import timedelta

import pytest

from schemas.llm import Task
from tests.layouts import CALLS, PREFIX_TOKENS, TURNS, Compared, compared, prefix_tokens, recorded

ONE, TEN = timedelta(minutes=1), timedelta(minutes=10)


@pytest.mark.parametrize(("gap", "brisk"), [(ONE, True), (ONE, False), (TEN, False)], ids=["1m-5m", "1m-1h", "10m-1h"])
async def test_nearly_all_is_read_and_the_bill_is_a_fifth(gap: timedelta, brisk: bool) -> None:
    found = await compared(gap, brisk=brisk)

    assert found.ours.calls == TURNS * CALLS
    assert found.ours.read_share >= 0.92
    assert found.times_cheaper >= 4.8
    # An hour costs a brisk persona what the window saves: hence its five minutes.
    assert found.below_automatic >= (0.05 if brisk or gap is TEN else 0.02)


async def test_the_longer_the_texts_the_more_the_steps_of_the_window_save() -> None:
    found: Compared = await compared(ONE, brisk=True, longer=10)

    assert found.ours.read_share >= 0.92
    assert found.below_automatic >= 0.15


async def test_what_is_measured_has_the_size_that_it_is_said_to_have() -> None:
    found = await recorded(ONE, brisk=True)

    prefixes = {prefix_tokens(body) for _, body in found.of(Task.REPLY)}
    assert len(prefixes) == 1
    assert prefixes.pop() == pytest.approx(PREFIX_TOKENS, rel=0.05)
    assert {body["model"] for _, body in found.of(Task.REPLY)} == {"claude-haiku-5-5"}
    results = [str(body["messages"][-1]["content"][0].get("content", "")) for _, body in found.of(Task.REPLY)]
    assert sum("Les colis partent" in result for result in results) == TURNS
