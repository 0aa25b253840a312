"""The guards of a run, counted word for word."""

import pytest

from schemas.agent import AgentParameters, TraceKind
from schemas.conversation import BubbleKind
from schemas.decisions import Bubble, Failure, Reply, Silence, SilenceReason
from schemas.errors import Code
from schemas.llm import Stop
from schemas.strategy import NO_STRATEGY
from tests.builders import a_case, a_resume
from tests.fakes import Line, calling, done, sending
from tests.replies import TOO_COLD, stage

BAD = ("send_message", {"txt": "oops"})
PLAN = ("set_plan", {"plan": "ask about the dogs"})


def ending(decision: object) -> tuple[str, Code | None]:
    return type(decision).__name__, getattr(decision, "code", None)


def plans(count: int) -> list[Line]:
    return [calling(("set_plan", {"plan": f"plan {n}"})) for n in range(count)]


async def test_the_last_model_call_allowed_may_not_ask_for_tools() -> None:
    on = stage(*plans(2), sending("coucou"))

    decision = await on.run(a_case(persona={"agent": {"MaxIterations": 3}}))

    assert ending(decision) == ("Failure", Code.MAX_ITERATIONS)
    assert len(on.model.agent.heard) == 3
    assert on.heard[-1].task == "reply"


async def test_the_last_model_call_allowed_may_end_the_turn() -> None:
    on = stage(sending("coucou"), calling(PLAN), done())

    decision = await on.run(a_case(persona={"agent": {"MaxIterations": 3}}))

    assert ending(decision) == ("Reply", None)


async def test_an_accepted_ending_on_the_last_call_needs_no_further_call() -> None:
    on = stage(calling(("leave_on_read", {})))

    decision = await on.run(a_case(persona={"agent": {"MaxIterations": 1}}))

    assert isinstance(decision, Silence)
    assert decision.reason is SilenceReason.LEFT_ON_READ


async def test_twelve_calls_are_allowed_by_default() -> None:
    on = stage(*plans(13))

    decision = await on.run()

    assert isinstance(decision, Failure)
    assert (decision.code, decision.reason, decision.detail) == (
        Code.MAX_ITERATIONS,
        "max_iterations",
        "12 model calls made and still not done (MaxIterations)",
    )


async def test_the_review_does_not_count_as_an_iteration() -> None:
    on = stage(sending("coucou"), done(), sending("coucou toi"), done(), reviews=(TOO_COLD,))

    decision = await on.run(a_case(persona={"agent": {"MaxIterations": 4}}))

    assert ending(decision) == ("Reply", None)
    assert [request.task.value for request in on.heard] == ["reply", "reply", "review", "reply", "reply", "review"]


async def test_six_refusals_in_a_row_end_the_run_before_the_rest_of_the_turn() -> None:
    bad = [("send_message", {"txt": f"{n}"}) for n in range(6)]
    on = stage(calling(*bad, ("send_message", {"text": "never made"})), done())

    decision = await on.run()

    assert ending(decision) == ("Failure", Code.REFUSED_CALLS)
    assert len(on.heard) == 1
    assert [item["refused"] for item in on.trace(decision, TraceKind.TOOL)] == [True] * 6


async def test_an_accepted_call_starts_the_count_of_refusals_again() -> None:
    bad = [("send_message", {"txt": f"{n}"}) for n in range(10)]
    on = stage(calling(*bad[:5], PLAN, *bad[5:]), sending("coucou"), done())

    assert ending(await on.run()) == ("Reply", None)


async def test_refusals_are_counted_over_turns() -> None:
    bad = [calling(("send_message", {"txt": f"{n}"})) for n in range(6)]
    on = stage(*bad, done())

    decision = await on.run()

    assert ending(decision) == ("Failure", Code.REFUSED_CALLS)
    assert len(on.heard) == 6


async def test_refused_calls_come_before_iterations_and_time() -> None:
    on = stage(calling(BAD, takes=1000.0))

    decision = await on.run(a_case(persona={"agent": {"MaxIterations": 1, "MaxRefusedToolCalls": 1}}))

    assert ending(decision) == ("Failure", Code.REFUSED_CALLS)


async def test_iterations_come_before_time() -> None:
    on = stage(calling(PLAN, takes=1000.0))

    decision = await on.run(a_case(persona={"agent": {"MaxIterations": 1}}))

    assert ending(decision) == ("Failure", Code.MAX_ITERATIONS)


async def test_time_is_over_before_the_next_call() -> None:
    on = stage(calling(PLAN, takes=151.0))

    decision = await on.run()

    assert decision == Failure(
        Code.TIMEOUT,
        "timeout",
        decision.trace,  # type: ignore[union-attr]
        strategy=NO_STRATEGY,
        detail="150 seconds of work are over (TimeoutSeconds)",
    )
    assert len(on.heard) == 1


async def test_time_spent_by_earlier_claims_counts_and_a_call_gets_what_is_left() -> None:
    on = stage(sending("coucou", takes=10.0), done())

    await on.run(resume=a_resume(active_seconds=100.0))

    assert on.model.agent.deadlines == [150.0, 150.0]
    assert on.keep.steps[0].active_seconds == 110.0


async def test_the_review_needs_time_too() -> None:
    on = stage(sending("coucou", takes=100.0), done(takes=60.0))

    decision = await on.run()

    assert ending(decision) == ("Failure", Code.TIMEOUT)
    assert [request.task.value for request in on.heard] == ["reply", "reply"]


async def test_the_third_equal_call_is_refused_whatever_the_order_of_its_arguments() -> None:
    pause = {"reason": "later", "until": "2020-01-01T00:00:00+00:00"}
    other_order = dict(reversed(pause.items()))
    on = stage(
        calling(("conversation_pause", pause), ("conversation_pause", other_order), ("conversation_pause", pause)),
        sending("coucou"),
        done(),
    )

    decision = await on.run()

    assert isinstance(decision, Reply)
    assert on.told(2)[2] == (
        "conversation_pause was already called twice with these arguments. Do something else, or end your turn."
    )


async def test_equal_calls_are_counted_over_corrections_too() -> None:
    on = stage(
        calling(PLAN, ("send_message", {"text": "bof"})),
        done(),
        calling(PLAN, ("send_message", {"text": "coucou"})),
        done(),
        calling(PLAN, ("send_message", {"text": "coucou toi"})),
        done(),
        reviews=(TOO_COLD, TOO_COLD),
    )

    decision = await on.run()

    assert ending(decision) == ("Reply", None)
    assert [item["refused"] for item in on.trace(decision, TraceKind.TOOL) if item["tool"] == "set_plan"] == [
        False,
        False,
        True,
    ]


async def test_a_call_whose_bubble_the_agent_dropped_itself_still_counts_after_a_correction() -> None:
    same, clear = ("send_message", {"text": "coucou"}), ("clear_messages", {})
    on = stage(
        calling(same, clear, same, clear),
        sending("bof"),
        done(),
        calling(same),
        sending("hé"),
        done(),
        reviews=(TOO_COLD,),
    )

    decision = await on.run()

    assert isinstance(decision, Reply)
    assert decision.bubbles == (Bubble(BubbleKind.TEXT, "hé"),)


async def test_an_unknown_tool_is_a_refusal_that_names_the_tools_there_are() -> None:
    on = stage(calling(("send_money", {"amount": 3})), sending("coucou"), done())

    await on.run()

    assert on.told(2) == [
        "There is no tool 'send_money'. "
        "The tools are: clear_messages, conversation_pause, get_media, leave_on_read, send_image, send_message, "
        "send_payment, send_vocal, set_plan."
    ]


async def test_wrong_arguments_are_a_refusal_that_names_each() -> None:
    on = stage(calling(BAD), sending("coucou"), done())

    await on.run()

    assert on.told(2) == [
        "text: Field required; txt: Extra inputs are not permitted. Correct the arguments and call send_message again."
    ]


@pytest.mark.parametrize(
    "empty", [Line(), done("just talking"), Line(text="cut off he", stop=Stop.CUT)], ids=["empty", "text", "cut"]
)
async def test_a_turn_with_nothing_to_send_is_nudged_once(empty: Line) -> None:
    on = stage(empty, sending("coucou"), done())

    decision = await on.run()

    assert isinstance(decision, Reply)
    assert decision.bubbles == (Bubble(BubbleKind.TEXT, "coucou"),)
    assert on.told(2)[-1].startswith("[Notice] Your turn ended, and nothing is queued.")


async def test_after_the_nudge_nothing_to_send_is_a_failure() -> None:
    on = stage(done("hm"), done("hm"))

    assert ending(await on.run()) == ("Failure", Code.NO_CANDIDATE)
    assert len(on.heard) == 2


async def test_the_nudge_comes_once_in_a_run() -> None:
    on = stage(done("hm"), calling(PLAN), done("hm"))

    assert ending(await on.run()) == ("Failure", Code.NO_CANDIDATE)
    assert len(on.heard) == 3


async def test_an_answer_cut_twice_is_a_failure_of_the_model() -> None:
    on = stage(Line(text="a", stop=Stop.CUT), Line(text="b", stop=Stop.CUT))

    assert ending(await on.run()) == ("Failure", Code.MODEL_REFUSED)


async def test_a_cut_after_a_nudge_for_an_empty_turn_is_not_yet_a_second_cut() -> None:
    on = stage(done("hm"), Line(text="b", stop=Stop.CUT))

    assert ending(await on.run()) == ("Failure", Code.NO_CANDIDATE)


async def test_calls_of_a_cut_answer_are_not_made() -> None:
    cut = calling(("send_message", {"text": "half a sen"}), stop=Stop.CUT)
    on = stage(cut, sending("whole sentence"), done())

    decision = await on.run()

    assert isinstance(decision, Reply)
    assert [bubble.text for bubble in decision.bubbles] == ["whole sentence"]
    assert on.told(2) == ["Your answer was cut off before this call was complete, so it was not made. Be shorter."]


CUT_CALL = calling(("send_message", {"text": "half a sen"}), stop=Stop.CUT)


async def test_what_is_queued_survives_two_cuts_and_the_review_decides() -> None:
    on = stage(sending("coucou"), CUT_CALL, CUT_CALL)

    decision = await on.run()

    assert isinstance(decision, Reply), decision
    assert decision.bubbles == (Bubble(BubbleKind.TEXT, "coucou"),)
    assert [request.task.value for request in on.heard] == ["reply", "reply", "reply", "review"]


async def test_a_cut_with_bubbles_queued_spends_no_nudge() -> None:
    clear = calling(("clear_messages", {}))
    on = stage(sending("coucou"), CUT_CALL, clear, done("hm"), sending("enfin"), done())

    decision = await on.run()

    assert isinstance(decision, Reply), decision
    assert decision.bubbles == (Bubble(BubbleKind.TEXT, "enfin"),)
    assert on.told(3) == ["Your answer was cut off before this call was complete, so it was not made. Be shorter."]


async def test_a_cut_after_the_nudge_does_not_lose_what_is_queued() -> None:
    on = stage(done("hm"), sending("coucou"), CUT_CALL, done())

    assert ending(await on.run()) == ("Reply", None)


async def test_a_reply_that_ended_by_a_cut_can_still_be_corrected() -> None:
    on = stage(sending("bof"), CUT_CALL, CUT_CALL, sending("coucou toi"), done(), reviews=(TOO_COLD,))

    decision = await on.run()

    assert isinstance(decision, Reply), decision
    assert decision.bubbles == (Bubble(BubbleKind.TEXT, "coucou toi"),)
    assert [text[:8] for text in on.told(4)] == ["Your ans", "[Review]"]


async def test_calls_cut_twice_with_nothing_queued_are_a_failure_of_the_model() -> None:
    assert ending(await stage(CUT_CALL, CUT_CALL).run()) == ("Failure", Code.MODEL_REFUSED)


async def test_a_refusal_of_the_model_ends_the_run_at_once() -> None:
    on = stage(sending("coucou"), Line(text="I can't", stop=Stop.REFUSED))

    assert ending(await on.run()) == ("Failure", Code.MODEL_REFUSED)
    assert len(on.heard) == 2


async def test_free_text_is_never_sent() -> None:
    on = stage(sending("coucou", text="secret thoughts"), done("the end"))

    decision = await on.run()

    assert isinstance(decision, Reply)
    assert decision.bubbles == (Bubble(BubbleKind.TEXT, "coucou"),)


async def test_no_call_after_an_accepted_ending_is_made() -> None:
    on = stage(calling(("leave_on_read", {"reason": "goodnight"}), PLAN))

    decision = await on.run()

    assert isinstance(decision, Silence)
    assert decision.plan is None
    assert [item["tool"] for item in on.trace(decision, TraceKind.TOOL)] == ["leave_on_read"]


async def test_a_guard_says_in_the_trace_which_rule_ended_the_run() -> None:
    on = stage(*plans(1))

    decision = await on.run(a_case(organization={"agent": {"MaxIterations": 1}}))

    assert on.trace(decision, TraceKind.GUARD) == [
        {"code": "AR-550", "rule": "1 model call made and still not done (MaxIterations)"}
    ]


def test_defaults_are_what_operators_were_told() -> None:
    defaults = AgentParameters()

    assert (
        defaults.max_iterations,
        defaults.timeout_seconds,
        defaults.max_refused_tool_calls,
        defaults.max_validation_passes,
    ) == (12, 150.0, 6, 2)
