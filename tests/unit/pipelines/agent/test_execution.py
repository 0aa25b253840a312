"""Tools of one turn: lookups side by side, results in the order of the calls, nothing beyond a guard."""

from pipelines.agent.execution import Execution
from pipelines.agent.guards import Counts, Halt
from pipelines.agent.policy import ToolPolicy
from pipelines.agent.trace import Trace
from schemas.agent import AgentParameters
from schemas.errors import Code
from schemas.llm import ToolCall, ToolResult
from tests.desk import Desk, Look, Note, Stop
from tests.fakes import FrozenClock


def calls(*said: tuple[str, dict[str, str]]) -> list[ToolCall]:
    return [ToolCall(f"t{n}", name, args) for n, (name, args) in enumerate(said)]


def execution(desk: Desk, policy: ToolPolicy | None = None, **limits: int) -> Execution[Desk]:
    parameters = AgentParameters(**limits)  # type: ignore[arg-type]
    tools = [Look(), Note(), Stop()]
    return Execution(tools, policy or ToolPolicy(), desk, Counts(), parameters, Trace(FrozenClock()))


async def test_lookups_of_one_turn_run_side_by_side_and_answer_in_order() -> None:
    desk = Desk()
    said = calls(("look", {"q": "a"}), ("note", {}), ("look", {"q": "b"}))

    results = await execution(desk).turn(said, {}, 5.0)

    assert results == [ToolResult("t0", "found a"), ToolResult("t1", "noted"), ToolResult("t2", "found b")]
    assert (desk.most, desk.found) == (2, ["found a", "found b"])


async def test_what_was_looked_up_before_is_not_looked_up_again() -> None:
    desk = Desk()
    desk.open.set()
    saved = {"t0": ToolResult("t0", "found long ago"), "t1": ToolResult("t1", "not there", is_error=True)}

    results = await execution(desk).turn(calls(("look", {"q": "a"}), ("look", {"q": "b"})), saved, 5.0)

    assert results == [ToolResult("t0", "found long ago"), ToolResult("t1", "not there", is_error=True)]
    assert (desk.log, desk.found) == ([], ["found long ago"])


async def test_parallel_lookups_that_are_refused_count_one_each_in_order() -> None:
    desk = Desk()
    desk.open.set()
    said = calls(("look", {"q": "void"}), ("look", {"q": "a"}), ("look", {"q": "void"}), ("nope", {}), ("note", {}))

    halt = await execution(desk, max_refused_tool_calls=2).turn(said, {}, 5.0)

    assert isinstance(halt, Halt)
    assert halt.code is Code.REFUSED_CALLS
    assert "note" not in desk.log


async def test_a_lookup_that_a_guard_may_still_forbid_is_not_started() -> None:
    desk = Desk()
    desk.open.set()
    said = calls(("look", {"q": "void"}), ("nope", {}), ("look", {"q": "b"}))

    halt = await execution(desk, max_refused_tool_calls=2).turn(said, {}, 5.0)

    assert isinstance(halt, Halt)
    assert desk.log == ["look void"]


async def test_nothing_after_an_ending_is_started() -> None:
    desk = Desk()
    desk.open.set()

    results = await execution(desk).turn(calls(("stop", {}), ("look", {"q": "a"}), ("note", {})), {}, 5.0)

    assert results == [ToolResult("t0", "stopped")]
    assert desk.log == []


async def test_a_lookup_behind_an_ending_is_not_started_with_the_ones_before_it() -> None:
    desk = Desk()
    desk.open.set()

    await execution(desk).turn(calls(("look", {"q": "a"}), ("stop", {}), ("look", {"q": "b"})), {}, 5.0)

    assert desk.log == ["look a"]


async def test_a_lookup_that_takes_longer_than_the_run_may_is_cancelled() -> None:
    desk = Desk()

    halt = await execution(desk).turn(calls(("look", {"q": "a"})), {}, 0.02)

    assert isinstance(halt, Halt)
    assert (halt.code, desk.log) == (Code.TIMEOUT, [])


async def test_a_disabled_tool_leaves_the_palette() -> None:
    policy = ToolPolicy({"look": "the team said so"}, remove=True)
    at_work = execution(Desk(), policy)

    assert [tool.name for tool in at_work.palette] == ["note", "stop"]
    (result,) = await at_work.turn(calls(("look", {"q": "a"})), {}, 5.0)  # type: ignore[misc]
    assert result.text == "look cannot be used now: the team said so. Reply without it."  # type: ignore[union-attr]


async def test_or_it_stays_and_refuses_politely() -> None:
    policy = ToolPolicy({"look": "the team said so"}, remove=False)
    at_work = execution(Desk(), policy)

    assert [tool.name for tool in at_work.palette] == ["look", "note", "stop"]
    results = await at_work.turn(calls(("look", {"q": "a"})), {}, 5.0)
    assert results == [ToolResult("t0", "look cannot be used now: the team said so. Reply without it.", is_error=True)]
