"""The adapter on the real SDK: what goes out, what comes back, and every way a call can fail."""

import asyncio
import time
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest

from pipelines.llm.models import ANTHROPIC
from pipelines.ports import ChatModel
from schemas.decisions import Failure, Parked, Reply
from schemas.errors import Code, FailureKind, ModelFailure
from schemas.groups import LlmSettings
from schemas.ids import CallId
from schemas.llm import Message, Model, ModelRequest, Stop, Task, Text, ToolCall, ToolSpec, Ttl
from tests.builders import a_case, a_resume, settings
from tests.fakes import HAIKU, MemoryKeep
from tests.simulator import RunningSimulator, running_simulator
from workers.adapters.llm import build
from workers.adapters.llm.anthropic import AnthropicModel
from workers.simulator.control import SimulatorControl


class RealClock:
    def now(self) -> datetime:
        return datetime.now(UTC)

    def monotonic(self) -> float:
        return time.monotonic()


def a_request(text: str = "hello", **fields: Any) -> ModelRequest:
    parts: dict[str, Any] = {
        "call": CallId("7.1.1"),
        "task": Task.REPLY,
        "model": HAIKU,
        "system": (Text("You answer. " * 300, Ttl.ONE_HOUR),),
        "messages": (Message("user", (Text(text),)),),
        "max_tokens": 100,
        "tools": (ToolSpec("note", "notes", {"type": "object"}),),
    }
    return ModelRequest(**{**parts, **fields})


@pytest.fixture
async def model(simulator: RunningSimulator, control: SimulatorControl) -> AsyncIterator[AnthropicModel]:
    chat = AnthropicModel("key", simulator.base_url, LlmSettings(timeout_seconds=20), RealClock())
    yield chat
    await chat.close()


async def ask(model: ChatModel, request: ModelRequest, seconds: float = 30.0) -> Any:
    return await model.ask(request, time.monotonic() + seconds)


async def test_an_answer_comes_back_with_calls_usage_and_request_id(
    model: AnthropicModel, control: SimulatorControl
) -> None:
    await control.script({"text": "let me", "calls": [{"name": "note", "input": {"z": 1, "a": "é"}}]})

    answer = await ask(model, a_request())

    (seen,) = await control.requests()
    assert (answer.text, answer.stop, answer.model, answer.request_id) == ("let me", Stop.TOOLS, HAIKU, seen.request_id)
    assert answer.calls == (ToolCall(answer.content[1]["id"], "note", {"z": 1, "a": "é"}),)
    assert seen.answer is not None
    assert list(answer.content) == seen.answer["content"]
    assert (answer.usage.cache_write_1h, answer.usage.cache_read) == (
        seen.answer["usage"]["cache_creation"]["ephemeral_1h_input_tokens"],
        0,
    )
    assert answer.usage.cache_write_1h > 800


async def test_the_call_id_goes_out_as_a_header_and_nothing_is_tried_twice(
    model: AnthropicModel, control: SimulatorControl
) -> None:
    await control.fault("overloaded", next=1)

    with pytest.raises(ModelFailure):
        await ask(model, a_request(call=CallId("9.3.2")))

    (seen,) = await control.requests()
    assert seen.headers["x-replique-call"] == "9.3.2"
    assert seen.headers["x-stainless-retry-count"] == "0"
    assert "traceparent" not in seen.headers


async def test_the_second_call_reads_what_the_first_wrote(model: AnthropicModel) -> None:
    first, second = await ask(model, a_request("one")), await ask(model, a_request("two"))

    assert second.usage.cache_read == first.usage.cache_write_1h > 0


async def test_equal_requests_are_equal_bytes(model: AnthropicModel, control: SimulatorControl) -> None:
    await ask(model, a_request("é 🧑‍🚀 \ud800"))
    await ask(model, a_request("é 🧑‍🚀 \ud800"))

    bodies = [seen.body for seen in await control.requests()]
    assert bodies[0] == bodies[1]


@pytest.mark.parametrize(
    ("fault", "kind", "retry_after"),
    [
        ({"kind": "rate_limited", "retry_after": 30}, FailureKind.RATE_LIMITED, 30.0),
        ({"kind": "spend_cap"}, FailureKind.SPEND_CAP, None),
        ({"kind": "overloaded"}, FailureKind.OVERLOADED, None),
        ({"kind": "server_error"}, FailureKind.TRANSIENT, None),
        ({"kind": "cut_before"}, FailureKind.CUT, None),
        ({"kind": "cut_body"}, FailureKind.CUT, None),
        ({"kind": "bad_json"}, FailureKind.CUT, None),
    ],
    ids=lambda value: value["kind"] if isinstance(value, dict) else "",
)
async def test_every_way_to_fail_has_its_kind(
    model: AnthropicModel,
    control: SimulatorControl,
    fault: dict[str, Any],
    kind: FailureKind,
    retry_after: float | None,
) -> None:
    await control.fault(next=1, **fault)

    with pytest.raises(ModelFailure) as caught:
        await ask(model, a_request())

    assert (caught.value.kind, caught.value.retry_after) == (kind, retry_after)


async def test_a_provider_that_takes_too_long_is_not_waited_for(
    simulator: RunningSimulator, control: SimulatorControl
) -> None:
    await control.fault("slow", next=1, delay=5)
    impatient = AnthropicModel("key", simulator.base_url, LlmSettings(timeout_seconds=1), RealClock())

    with pytest.raises(ModelFailure) as caught:
        await ask(impatient, a_request())
    await impatient.close()

    assert caught.value.kind is FailureKind.TIMEOUT


async def test_the_deadline_cancels_the_call_in_flight(model: AnthropicModel, control: SimulatorControl) -> None:
    await control.fault("slow", next=1, delay=8)
    began = time.monotonic()

    with pytest.raises(ModelFailure) as caught:
        await ask(model, a_request(), seconds=0.2)

    assert caught.value.kind is FailureKind.DEADLINE
    assert time.monotonic() - began < 5


async def test_a_refused_connection_was_never_sent() -> None:
    nobody = AnthropicModel("key", "http://127.0.0.1:9", LlmSettings(), RealClock())

    with pytest.raises(ModelFailure) as caught:
        await ask(nobody, a_request())
    await nobody.close()

    assert caught.value.kind is FailureKind.TRANSIENT
    assert not caught.value.kind.cost_unknown


async def test_a_key_that_is_not_taken_leaves_time_to_repair_it() -> None:
    with running_simulator(api_keys=("the-good-one",)) as strict:
        chat = AnthropicModel("another", strict.base_url, LlmSettings(), RealClock())
        with pytest.raises(ModelFailure) as caught:
            await ask(chat, a_request())
        await chat.close()

    assert (caught.value.kind, caught.value.sentence) == (
        FailureKind.TRANSIENT,
        "the provider answered 401 authentication_error",
    )


async def test_a_request_the_provider_refuses_is_permanent_and_the_sentence_quotes_nothing(
    model: AnthropicModel,
) -> None:
    with pytest.raises(ModelFailure) as caught:
        await ask(model, a_request("secret words", messages=()))

    assert caught.value.kind is FailureKind.PERMANENT
    assert caught.value.sentence == "the provider answered 400 invalid_request_error"


async def test_a_name_that_the_provider_does_not_know_is_told_apart(model: AnthropicModel) -> None:
    with pytest.raises(ModelFailure) as caught:
        await ask(model, a_request("secret words", model=Model(ANTHROPIC, "claude-unheard-of")))

    assert caught.value.kind is FailureKind.MODEL_GONE
    assert caught.value.sentence == "the provider answered 404 not_found_error"


async def test_a_prompt_longer_than_the_model_reads_is_an_overflow(model: AnthropicModel) -> None:
    with pytest.raises(ModelFailure) as caught:
        await ask(model, a_request("x" * 4_400_000), seconds=30.0)

    assert caught.value.kind is FailureKind.CONTEXT_OVERFLOW


async def test_a_task_that_is_cancelled_stays_cancelled(model: AnthropicModel, control: SimulatorControl) -> None:
    await control.fault("slow", next=1, delay=3)
    task = asyncio.create_task(ask(model, a_request()))
    await asyncio.sleep(0.1)
    task.cancel()

    with pytest.raises(asyncio.CancelledError):
        await task


@pytest.fixture
async def run(simulator: RunningSimulator, control: SimulatorControl) -> AsyncIterator[Any]:
    """One run of the whole pipeline: decision and what was saved."""
    from pipelines.autoreply.pipeline import ReplyPipeline

    configured = settings(ANTHROPIC_BASE_URL=simulator.base_url)
    llm = build(configured, RealClock())
    pipeline = ReplyPipeline(RealClock(), llm.models, llm.prices, configured)

    async def once(**fields: Any) -> tuple[Any, MemoryKeep]:
        keep = MemoryKeep()
        return await pipeline.run(a_case("coucou, tu fais quoi ?", **fields), a_resume(), keep), keep

    yield once
    await llm.models[ANTHROPIC].close()  # type: ignore[attr-defined]


async def test_a_run_pays_what_the_provider_billed_call_by_call(run: Any, control: SimulatorControl) -> None:
    decision, keep = await run()

    assert isinstance(decision, Reply)
    billed = {seen.headers["x-replique-call"]: seen.usage for seen in await control.requests()}
    settled = {step.call.call: step.call.usage for step in keep.steps}
    assert {call: usage.total_input for call, usage in settled.items()} == {
        call: usage["input_tokens"] + usage["cache_read_input_tokens"] + usage["cache_creation_input_tokens"]
        for call, usage in billed.items()
        if usage
    }
    assert [held.call for held in keep.reserved] == list(billed)
    costs = [(held.cost_usd, step.call.cost_usd) for held, step in zip(keep.reserved, keep.steps, strict=True)]
    assert all(Decimal(0) < cost < reserved for reserved, cost in costs)


async def test_a_dated_429_parks_and_counts_for_nothing(run: Any, control: SimulatorControl) -> None:
    await control.fault("rate_limited", next=1, retry_after=7)

    decision, _ = await run()

    assert isinstance(decision, Parked)
    assert (decision.counts, decision.retry_after) == (False, 7.0)


@pytest.mark.parametrize(
    ("turns", "code"),
    [
        ([{"text": "I cannot", "stop": "refusal"}], Code.MODEL_REFUSED),
        ([{"text": "so lo", "stop": "max_tokens"}, {"text": "ng", "stop": "max_tokens"}], Code.MODEL_REFUSED),
        ([{"raw": []}, {"text": "nothing to say"}], Code.NO_CANDIDATE),
        ([{"calls": [{"name": "nope", "input": {"n": n}} for n in range(7)]}], Code.REFUSED_CALLS),
        ([{"calls": [{"name": "set_plan", "input": {"plan": f"{n}"}}]} for n in range(12)], Code.MAX_ITERATIONS),
        ([{"calls": [{"name": "send_message", "input": {"text": "je suis pas un bot"}}]}, {"text": "ok"}],
         Code.CRITICAL_REVIEW),
    ],
    ids=["refusal", "cut-twice", "empty-then-text", "refused-calls", "iterations", "honesty"],
)  # fmt: skip
async def test_misbehaving_models_end_the_run_with_their_code(
    run: Any, control: SimulatorControl, turns: list[dict[str, Any]], code: Code
) -> None:
    await control.script(*turns, task="reply")

    decision, _ = await run()

    assert isinstance(decision, Failure)
    assert decision.code is code
    assert await control.refusals() == []


async def test_wrong_tool_arguments_are_told_and_corrected(run: Any, control: SimulatorControl) -> None:
    await control.script(
        {"calls": [{"name": "send_message", "input": {"message": "coucou"}}]},
        {"calls": [{"name": "send_message", "input": {"text": "coucou toi"}}]},
        {"raw": []},
        task="reply",
    )

    decision, _ = await run()

    assert isinstance(decision, Reply)
    assert [bubble.text for bubble in decision.bubbles] == ["coucou toi"]
    assert await control.refusals() == []


async def test_thinking_blocks_go_back_as_they_came(run: Any, control: SimulatorControl) -> None:
    thinking = {"type": "thinking", "thinking": "hm", "signature": "abc=="}
    call = {"type": "tool_use", "id": "toolu_own", "name": "send_message", "input": {"text": "coucou toi"}}
    await control.script({"raw": [thinking, call], "stop": "tool_use"}, {"text": "ok"}, task="reply")

    decision, _ = await run(organization={"models": {"reply": "claude-sonnet-5-5"}})

    assert isinstance(decision, Reply)
    second = (await control.requests())[1].json()
    assert second["messages"][-2]["content"] == [thinking, call]
