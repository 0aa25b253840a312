"""A run that another worker goes on with: the same bytes, nothing paid twice."""

import json

import pytest

from pipelines.llm.dialects.anthropic import to_wire
from schemas.agent import Kept, TraceKind
from schemas.decisions import Decision, Reply, Stopped
from schemas.llm import ModelRequest
from tests.builders import NOON, a_case, a_resume, dialogue
from tests.fakes import Line, calling, done, sending
from tests.replies import FINE, TOO_COLD, Stage, stage

SAID = (
    calling(("set_plan", {"plan": "ask about Lyon"}), text="thinking"),
    calling(("send_message", {"text": "coucou"}), ("send_message", {"txt": "wrong"})),
    done("nothing queued more"),
    sending("coucou Léo, ça va ?", "et Lyon ?"),
    done(""),
)
REVIEWS = (TOO_COLD, FINE)
TASKS = ["reply", "reply", "reply", "review", "reply", "reply", "review"]
CASE = a_case(turns=dialogue(("salut", "hello toi"), newest=("tu vas bien ?",)), plan="old plan")
LATER = a_case(turns=CASE.turns, plan="old plan", now=NOON.replace(hour=18))
"""The same conversation when the next worker claims it: the clock went on."""


def wire(request: ModelRequest) -> str:
    return json.dumps(to_wire(request))


async def whole() -> tuple[Stage, Decision]:
    on = stage(*SAID, reviews=REVIEWS)
    return on, await on.run(CASE)


async def resumed_after(steps: int, first: Stage) -> tuple[Stage, Decision]:
    """The run as it goes on when the worker died after so many steps were saved."""
    tasks = TASKS[:steps]
    rest = SAID[tasks.count("reply") :]
    on = stage(*rest, reviews=REVIEWS[tasks.count("review") :])
    return on, await on.run(LATER, first.keep.resume(steps))


async def test_the_whole_run_goes_as_the_tests_below_expect() -> None:
    on, decision = await whole()

    assert [request.task.value for request in on.heard] == TASKS
    assert isinstance(decision, Reply)
    assert [bubble.text for bubble in decision.bubbles] == ["coucou Léo, ça va ?", "et Lyon ?"]


@pytest.mark.parametrize("steps", range(len(TASKS) + 1))
async def test_a_resumed_run_sends_the_same_bytes_and_decides_the_same(steps: int) -> None:
    first, decided = await whole()

    on, decision = await resumed_after(steps, first)

    expected = [wire(request) for request in first.heard[steps:]]
    if steps == 0:
        # Nothing was saved: the clock in the prompt may differ.
        expected = [text.replace("13:00", "19:00") for text in expected]
    assert [wire(request) for request in on.heard] == expected
    assert isinstance(decision, Reply)
    assert isinstance(decided, Reply)
    assert (decision.bubbles, decision.plan, decision.note) == (decided.bubbles, decided.plan, decided.note)


@pytest.mark.parametrize("steps", range(len(TASKS) + 1))
async def test_the_story_is_told_once_over_all_claims(steps: int) -> None:
    first, decided = await whole()
    on, decision = await resumed_after(steps, first)

    saved = [item for step in first.keep.steps[:steps] for item in step.trace]
    added = [item for step in on.keep.steps for item in step.trace]
    told = [(item.n, item.kind, item.facts) for item in (*saved, *added, *decision.trace)]  # type: ignore[union-attr]

    in_one_go = [item for step in first.keep.steps for item in step.trace] + list(decided.trace)  # type: ignore[union-attr]
    assert told == [(item.n, item.kind, item.facts) for item in in_one_go]


async def test_call_ids_carry_the_fence_of_the_claim() -> None:
    first, _ = await whole()
    on, _ = await resumed_after(2, first)

    assert [request.call for request in first.heard] == [f"7.{n}.1" for n in range(1, 8)]
    assert [request.call for request in on.heard] == [f"7.{n}.2" for n in range(3, 8)]


async def test_money_is_reserved_before_every_call_under_its_id() -> None:
    on, _ = await whole()

    assert [held.call for held in on.keep.reserved] == [f"7.{n}.1" for n in range(1, 8)]
    assert all(held.cost_usd for held in on.keep.reserved)


async def test_a_claim_reserves_its_first_call_even_when_an_earlier_one_had() -> None:
    first, _ = await whole()
    on, _ = await resumed_after(3, first)

    assert on.keep.reserved[0].call == "7.4.2"


async def test_every_step_is_settled_with_what_its_call_cost() -> None:
    on, _ = await whole()

    assert [(step.n, step.task.value, step.call.call, str(step.call.cost_usd)) for step in on.keep.steps] == [
        (n, task, f"7.{n}.1", "0.00011") for n, task in enumerate(TASKS, 1)
    ]


@pytest.mark.parametrize("answer", [Kept.OVERTAKEN, Kept.LOST])
@pytest.mark.parametrize("at", range(4))
async def test_a_run_that_is_not_ours_any_more_stops_where_it_is(answer: Kept, at: int) -> None:
    on = stage(*SAID, reviews=REVIEWS)
    on.keep.answers = [*([Kept.FRESH] * at), answer]

    assert await on.run(CASE) == Stopped()
    assert len(on.heard) == at


async def test_lookalike_strings_survive_being_saved() -> None:
    odd = "1e2 \u2028 é 🧑‍🚀"
    first = stage(calling(("set_plan", {"plan": odd, "n": 1e2, "z": 1, "a": [1.0]})), sending("coucou"), done())
    await first.run(CASE)

    on = stage(sending("coucou"), done())
    await on.run(LATER, first.keep.resume(1))

    assert wire(on.heard[0]) == wire(first.heard[1])
    assert first.keep.steps[0].content.isascii()


async def test_a_saved_review_is_not_needed_when_reviews_were_switched_off_since() -> None:
    first, _ = await whole()
    saved = first.keep.resume(4)
    on = stage()

    decision = await on.run(
        a_case(turns=CASE.turns, persona={"agent": {"UseRedactionValidation": False}}),
        a_resume(*saved.steps, fence=2),
    )

    assert isinstance(decision, Reply)
    assert [bubble.text for bubble in decision.bubbles] == ["coucou"]
    assert on.heard == []


async def test_a_replay_that_takes_another_way_goes_on_with_the_next_free_number() -> None:
    first = stage(sending("bof"), done())
    await first.run(CASE)
    on = stage(sending("coucou toi"), done())

    decision = await on.run(
        a_case(turns=CASE.turns, persona={"limits": {"banned_words": ["bof"]}}), first.keep.resume(3)
    )

    assert isinstance(decision, Reply)
    assert [bubble.text for bubble in decision.bubbles] == ["coucou toi"]
    assert [request.call for request in on.heard] == ["7.4.2", "7.5.2", "7.6.2"]


async def test_model_items_of_the_trace_show_tokens_and_money() -> None:
    on = stage(Line((("send_message", {"text": "coucou"}),)), done())

    decision = await on.run()

    assert on.trace(decision, TraceKind.MODEL)[0] == {
        "model": "anthropic:claude-haiku-5-5",
        "stop": "tools",
        "input": 100,
        "cache_read": 0,
        "cache_write": 0,
        "output": 10,
        "cost_usd": "0.00011",
        "ms": 5,
    }
