"""What is set aside before a call is more than it will cost."""

from decimal import Decimal

from pipelines.llm.pricing import Purse, after, estimate
from schemas.ids import CallId
from schemas.llm import Message, ModelAnswer, ModelRequest, Raw, Reservation, Stop, Task, Text, ToolSpec, Usage
from tests.fakes import HAIKU, FlatPrices

CALL = CallId("7.1.1")


def test_a_reservation_is_the_worst_case() -> None:
    held = Purse(FlatPrices(), 4000).reserve(CALL, Task.REPLY, HAIKU, 6000)

    assert held == Reservation(CALL, Task.REPLY, HAIKU, Decimal("0.01"))


def test_a_model_without_a_price_is_unpriced_and_not_free() -> None:
    purse = Purse(FlatPrices(frozenset({HAIKU.name})), 4000)
    answer = ModelAnswer((), "", (), Stop.END, Usage(1), HAIKU)

    assert purse.reserve(CALL, Task.REPLY, HAIKU, 6000).cost_usd is None
    assert purse.settle(CALL, Task.REPLY, answer).cost_usd is None


def test_the_estimate_counts_every_part_of_the_request() -> None:
    def size(**fields: object) -> int:
        parts = {"system": (), "messages": (), "tools": (), **fields}
        return estimate(ModelRequest(CALL, Task.REPLY, HAIKU, max_tokens=1, **parts))  # type: ignore[arg-type]

    assert size() == 1
    assert size(system=(Text("é" * 300),)) == 201
    assert size(messages=(Message("user", (Text("a" * 300),)),)) == 101
    assert size(messages=(Message("assistant", (Raw({"k": "a" * 292}),)),)) == 101
    assert size(tools=(ToolSpec("t", "d" * 300, {}),)) > 100


def test_the_next_request_is_as_long_as_this_one_and_its_answer_and_some_more() -> None:
    answer = ModelAnswer((), "", (), Stop.TOOLS, Usage(10, 20, 30, 40, 5), HAIKU)

    assert after(answer) == 105 + 2000
