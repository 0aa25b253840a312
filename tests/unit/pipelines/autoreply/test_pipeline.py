"""What becomes of a conversation: reply, silence, failure, or waiting for the provider."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest

from pipelines.autoreply.pipeline import PLAN_READ
from schemas.agent import TraceKind
from schemas.conversation import Author
from schemas.decisions import Failure, Parked, Reply, Silence, SilenceReason
from schemas.errors import Code, FailureKind, ModelFailure
from schemas.llm import SettledCall, Task
from tests.builders import NOON, a_case, a_resume, a_turn
from tests.fakes import HAIKU, calling, done, sending
from tests.replies import stage


async def test_a_reply_carries_bubbles_plan_and_story() -> None:
    on = stage(calling(("set_plan", {"plan": "ask about Lyon"}), ("send_message", {"text": "coucou"})), done())

    decision = await on.run()

    assert isinstance(decision, Reply)
    assert ([bubble.text for bubble in decision.bubbles], decision.plan, decision.note, decision.call) == (
        ["coucou"],
        "ask about Lyon",
        None,
        None,
    )
    assert on.trace(decision, TraceKind.TOOL) == [
        {
            "tool": "set_plan",
            "args": {"plan": "ask about Lyon"},
            "result": "[PLAN] noted.",
            "refused": False,
            "reason": None,
        },
        {
            "tool": "send_message",
            "args": {"text": "coucou"},
            "result": "Queued as candidate 0.",
            "refused": False,
            "reason": None,
        },
    ]


@pytest.mark.parametrize(
    ("plan", "told"), [(None, []), ("ask about Lyon", [{"note": PLAN_READ, "plan": "ask about Lyon"}])]
)
async def test_the_story_says_which_plan_was_read(plan: str | None, told: list[Any]) -> None:
    on = stage(sending("salut"), done())

    assert on.trace(await on.run(a_case(plan=plan)), TraceKind.NOTE) == told


async def test_left_on_read_plans_a_follow_up_in_the_morning_of_the_contact() -> None:
    on = stage(calling(("set_plan", {"plan": "let him sleep"})), calling(("leave_on_read", {"reason": "bonne nuit"})))

    decision = await on.run(a_case("bonne nuit", contact={"timezone": "America/New_York"}))

    assert isinstance(decision, Silence)
    assert (
        decision.reason,
        decision.code,
        decision.detail,
        decision.read,
        decision.plan,
        decision.follow_up_at,
        decision.paused_until,
    ) == (
        SilenceReason.LEFT_ON_READ,
        None,
        "bonne nuit",
        True,
        "let him sleep",
        datetime(2026, 11, 30, 14, 0, tzinfo=UTC),
        None,
    )


async def test_the_follow_up_is_planned_for_the_hour_at_which_the_contact_writes_most() -> None:
    on = stage(calling(("leave_on_read", {})))
    evening = datetime(2026, 11, 28, 19, 40, tzinfo=UTC)
    turns = [
        a_turn("un", position=1, at=evening, answered=True),
        a_turn("deux", position=2, at=evening + timedelta(days=1), answered=True),
        *(a_turn("à nous", position=n, at=NOON, author=Author.AI) for n in (3, 4, 5)),
        a_turn("trois", position=6, at=NOON),
    ]

    decision = await on.run(a_case(turns=turns))

    assert isinstance(decision, Silence)
    assert decision.follow_up_at == datetime(2026, 11, 30, 19, 0, tzinfo=UTC)


async def test_a_pause_lasts_until_the_time_that_was_agreed() -> None:
    until = "2026-12-03T18:00:00+01:00"
    on = stage(calling(("conversation_pause", {"until": until, "reason": "holiday"})))

    decision = await on.run()

    assert isinstance(decision, Silence)
    assert (decision.reason, decision.read, decision.paused_until, decision.follow_up_at) == (
        SilenceReason.PAUSED,
        True,
        datetime(2026, 12, 3, 17, 0, tzinfo=UTC),
        None,
    )


@pytest.mark.parametrize(
    ("failure", "counts", "retry_after", "unknown"),
    [
        (ModelFailure(FailureKind.RATE_LIMITED, "429", 30.0), False, 30.0, False),
        (ModelFailure(FailureKind.RATE_LIMITED, "429"), True, None, False),
        (ModelFailure(FailureKind.SPEND_CAP, "429"), True, None, False),
        (ModelFailure(FailureKind.OVERLOADED, "529"), True, None, False),
        (ModelFailure(FailureKind.TRANSIENT, "refused"), True, None, False),
        (ModelFailure(FailureKind.TIMEOUT, "slow"), True, None, True),
        (ModelFailure(FailureKind.CUT, "cut"), True, None, True),
    ],
    ids=["429-dated", "429", "spend-cap", "overloaded", "transient", "timeout", "cut"],
)
async def test_a_provider_that_cannot_answer_now_parks_the_run(
    failure: ModelFailure, counts: bool, retry_after: float | None, unknown: bool
) -> None:
    on = stage(sending("coucou"), failure)

    decision = await on.run()

    assert isinstance(decision, Parked)
    cost = on.keep.reserved[-1].cost_usd if unknown else Decimal(0)
    assert (decision.kind, decision.counts, decision.retry_after, decision.call) == (
        failure.kind,
        counts,
        retry_after,
        SettledCall("7.2.1", Task.REPLY, HAIKU, failure.kind.value, cost_usd=cost, unknown=unknown),  # type: ignore[arg-type]
    )


async def test_a_dated_rate_limit_shuts_the_models_gate_and_nothing_else_does() -> None:
    failures = (ModelFailure(kind, "no", after) for kind in FailureKind for after in (None, 30.0))
    for failure in failures:
        on = stage(failure)
        await on.run()

        dated = failure.kind is FailureKind.RATE_LIMITED and failure.retry_after is not None
        assert on.gate.shut == ([(HAIKU, 30.0)] if dated else [])


async def test_whom_the_gate_sends_away_has_called_nobody_and_paid_nothing() -> None:
    on = stage(sending("coucou"), done())
    on.gate.pauses = [0.0, 12.5]

    decision = await on.run()

    assert isinstance(decision, Parked)
    assert (decision.kind, decision.counts, decision.retry_after, decision.call) == (
        FailureKind.RATE_LIMITED,
        False,
        12.5,
        None,
    )
    assert (len(on.heard), len(on.keep.steps)) == (1, 1)


async def test_what_was_saved_asks_no_gate_again() -> None:
    on = stage(sending("coucou"), done())
    on.gate.pauses = [0.0, 12.5]
    await on.run()
    again = stage(done())

    decision = await again.run(resume=on.keep.resume(1))

    assert isinstance(decision, Reply)
    assert again.gate.asked == [HAIKU, HAIKU], "the second call of the agent, and the review"


async def test_a_parked_run_says_how_long_it_has_worked() -> None:
    on = stage(sending("coucou", takes=10.0), ModelFailure(FailureKind.OVERLOADED, "529"))

    decision = await on.run(resume=a_resume(active_seconds=100.0))

    assert isinstance(decision, Parked)
    assert decision.active_seconds == 110.0


async def test_the_deadline_is_a_failure_whose_cost_nobody_knows() -> None:
    on = stage(ModelFailure(FailureKind.DEADLINE, "too late"))

    decision = await on.run()

    assert isinstance(decision, Failure)
    sentence = "150 seconds of work are over (TimeoutSeconds)"
    assert (decision.code, decision.reason, decision.detail) == (Code.TIMEOUT, "timeout", sentence)
    assert decision.call is not None
    assert (decision.call.outcome, decision.call.unknown, decision.call.cost_usd) == (
        "deadline",
        True,
        on.keep.reserved[0].cost_usd,
    )


@pytest.mark.parametrize("kind", [FailureKind.PERMANENT, FailureKind.CONTEXT_OVERFLOW])
async def test_a_request_that_would_fail_again_is_given_up(kind: FailureKind) -> None:
    decision = await stage(ModelFailure(kind, "no")).run()

    assert isinstance(decision, Failure)
    assert decision.code is Code.MODELS_FAILED


async def test_a_reviewer_that_is_down_parks_the_run_with_the_reply_unsent() -> None:
    on = stage(sending("coucou"), done(), reviews=(ModelFailure(FailureKind.OVERLOADED, "529"),))

    decision = await on.run()

    assert isinstance(decision, Parked)
    assert decision.call is not None
    assert (decision.call.task, decision.call.call) == (Task.REVIEW, "7.3.1")


async def test_an_organisation_may_choose_its_own_model() -> None:
    on = stage(sending("coucou"), done())

    await on.run(a_case(organization={"models": {"reply": "gpt-6-luna,claude-sonnet-5-5", "review": "nonsense"}}))

    assert [str(request.model) for request in on.heard] == [
        "anthropic:claude-sonnet-5-5",
        "anthropic:claude-sonnet-5-5",
        "anthropic:claude-haiku-5-5",
    ]


async def test_a_text_too_long_for_the_channel_becomes_several_bubbles_and_the_trace_says_so() -> None:
    sentence = "Je te raconte ma journée. "
    drafted = calling(
        ("send_message", {"text": "coucou"}),
        ("send_message", {"text": sentence * 60}),
        ("send_vocal", {"text": "Bonjour à toi. " * 100}),
        ("send_message", {"text": "et toi ?"}),
    )
    webhook = {"url": "https://a.example", "secret": "whsec_" + "c2VjcmV0" * 4, "channel": "instagram"}
    on = stage(drafted, done())

    decision = await on.run(a_case(persona={"limits": {"max_chars": 2000}}, organization={"webhook": webhook}))

    assert isinstance(decision, Reply)
    assert [(bubble.kind.value, bubble.text) for bubble in decision.bubbles] == [
        ("text", "coucou"),
        ("text", (sentence * 37).strip()),
        ("text", (sentence * 23).strip()),
        ("voice", ("Bonjour à toi. " * 100).strip()),
        ("text", "et toi ?"),
    ]
    assert {"note": "candidate 1 became 2 bubbles: instagram takes 1000 bytes at once"} in on.trace(
        decision, TraceKind.NOTE
    )
