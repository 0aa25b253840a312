"""The other provider's adapter on the real SDK: what goes out, what comes back, and every way a call can fail."""

import json
import time
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest

from pipelines.autoreply.pipeline import ReplyPipeline
from pipelines.llm.breaker import OwnBreaker, Rules
from pipelines.llm.models import OPENAI
from schemas.agent import SavedStep, TraceKind
from schemas.decisions import Parked, Reply
from schemas.errors import FailureKind, ModelFailure
from schemas.groups import LlmSettings
from schemas.ids import CallId
from schemas.llm import Message, Model, ModelRequest, Raw, Stop, Task, Text, ToolCall, ToolResult, ToolSpec, ToolUse
from tests.builders import a_case, a_resume, settings
from tests.fakes import HAIKU, MemoryKeep
from tests.simulator import RunningSimulator, running_simulator
from tests.wire.test_anthropic_model import RealClock
from workers.adapters.llm import build
from workers.adapters.llm.openai import OpenAIModel
from workers.simulator.control import SimulatorControl

LUNA = Model(OPENAI, "gpt-6-luna")
SMALL = Model(OPENAI, "text-embedding-3-small")
NOTE = ToolSpec("note", "notes", {"type": "object", "properties": {"z": {"type": "integer"}}})


def a_request(text: str = "hello", **fields: Any) -> ModelRequest:
    parts: dict[str, Any] = {
        "call": CallId("7.1.1"),
        "task": Task.REPLY,
        "model": LUNA,
        "system": (Text("You answer. " * 500), Text("As Maya.")),
        "messages": (Message("user", (Text(text),)),),
        "max_tokens": 100,
        "tools": (NOTE,),
    }
    return ModelRequest(**{**parts, **fields})


@pytest.fixture
async def model(simulator: RunningSimulator, control: SimulatorControl) -> AsyncIterator[OpenAIModel]:
    chat = OpenAIModel("key", f"{simulator.base_url}/v1", LlmSettings(timeout_seconds=20), RealClock())
    yield chat
    await chat.close()


async def ask(model: OpenAIModel, request: ModelRequest, seconds: float = 30.0) -> Any:
    return await model.ask(request, time.monotonic() + seconds)


async def test_an_answer_comes_back_with_calls_usage_and_request_id(
    model: OpenAIModel, control: SimulatorControl
) -> None:
    await control.script({"text": "let me", "calls": [{"name": "note", "input": {"z": 1, "a": "é"}}]})

    answer = await ask(model, a_request())

    (seen,) = await control.requests()
    assert seen.answer is not None
    said, usage = seen.answer["choices"][0]["message"], seen.answer["usage"]
    assert (answer.text, answer.stop, answer.model, answer.request_id) == ("let me", Stop.TOOLS, LUNA, seen.request_id)
    assert answer.calls == (ToolCall(said["tool_calls"][0]["id"], "note", {"z": 1, "a": "é"}),)
    assert answer.usage.total_input == usage["prompt_tokens"] > 1_024
    assert answer.usage.cache_write_5m == usage["prompt_tokens_details"]["cache_write_tokens"] > 0
    assert answer.usage.output == usage["completion_tokens"]
    assert (seen.path, seen.headers["x-replique-call"], seen.headers["x-stainless-retry-count"]) == (
        "/v1/chat/completions",
        "7.1.1",
        "0",
    )
    assert seen.json()["reasoning_effort"] == "none"


async def test_its_own_turns_go_back_as_they_came_and_are_read_from_the_cache(
    model: OpenAIModel, control: SimulatorControl
) -> None:
    await control.script({"calls": [{"name": "note", "input": {"z": 1}}, {"name": "note", "input": {"z": 2}}]})
    first = await ask(model, a_request())
    said = tuple(Raw(block, by=LUNA) for block in first.content)
    results = tuple(ToolResult(call.id, "no", is_error=n == 1) for n, call in enumerate(first.calls))

    second = await ask(
        model,
        a_request(
            messages=(
                Message("user", (Text("hello"),)),
                Message("assistant", said),
                Message("user", (*results, Text("and?"))),
            )
        ),
    )

    before, after = [seen.json()["messages"] for seen in await control.requests()]
    seen = (await control.requests())[0]
    assert seen.answer is not None
    calls = seen.answer["choices"][0]["message"]["tool_calls"]
    assert after[: len(before)] == before
    assert after[len(before) :] == [
        {"role": "assistant", "content": None, "tool_calls": calls},
        {"role": "tool", "tool_call_id": calls[0]["id"], "content": "no"},
        {"role": "tool", "tool_call_id": calls[1]["id"], "content": "ERROR: no"},
        {"role": "user", "content": [{"type": "text", "text": "and?"}]},
    ]
    assert second.usage.cache_read >= 1_024
    assert await control.refusals() == []


async def test_what_another_provider_wrote_is_said_again_under_ids_of_ours(
    model: OpenAIModel, control: SimulatorControl
) -> None:
    theirs = (
        Raw({"type": "thinking", "thinking": "hm", "signature": "abc=="}, by=HAIKU),
        Raw({"type": "text", "text": "well"}, by=HAIKU),
        Raw({"type": "tool_use", "id": "toolu_1", "name": "note", "input": {"z": 1}}, by=HAIKU),
    )
    only_thoughts = (Raw({"type": "thinking", "thinking": "hm", "signature": "abc=="}, by=HAIKU),)
    past = (ToolUse("sent_1", "note", {"z": 0}),)

    await ask(
        model,
        a_request(
            messages=(
                Message("user", (Text("hello"),)),
                Message("assistant", past),
                Message("user", (ToolResult("sent_1", "ok"), Text("again"))),
                Message("assistant", theirs),
                Message("user", (ToolResult("toolu_1", "noted"),)),
                Message("assistant", only_thoughts),
                Message("user", (Text("so?"),)),
            )
        ),
    )

    (seen,) = await control.requests()
    messages = seen.json()["messages"]
    assert [message["role"] for message in messages[1:]] == [
        "user", "assistant", "tool", "user", "assistant", "tool", "user",
    ]  # fmt: skip
    call = {"id": "moved_1", "type": "function", "function": {"name": "note", "arguments": '{"z": 1}'}}
    assert messages[5] == {"role": "assistant", "content": "well", "tool_calls": [call]}
    assert messages[6] == {"role": "tool", "tool_call_id": "moved_1", "content": "noted"}
    assert "toolu" not in seen.body
    assert await control.refusals() == []


async def test_structured_output_is_asked_for_strictly_where_the_schema_allows_it(
    model: OpenAIModel, control: SimulatorControl
) -> None:
    closed = {
        "type": "object",
        "additionalProperties": False,
        "required": ["a"],
        "properties": {"a": {"type": "string"}},
    }
    loose = {"type": "object", "properties": {"a": {"type": "string"}}}

    answers = [await ask(model, a_request(output_schema=schema, tools=())) for schema in (closed, loose)]

    assert json.loads(answers[0].text) == {"a": "-"}
    strict = [seen.json()["response_format"]["json_schema"]["strict"] for seen in await control.requests()]
    assert strict == [True, False]
    assert await control.refusals() == []


@pytest.mark.parametrize(
    ("fault", "kind", "retry_after"),
    [
        ({"kind": "rate_limited", "retry_after": 30}, FailureKind.RATE_LIMITED, 30.0),
        ({"kind": "rate_limited", "retry_after": 1.5}, FailureKind.RATE_LIMITED, 1.5),
        ({"kind": "spend_cap"}, FailureKind.SPEND_CAP, None),
        ({"kind": "overloaded"}, FailureKind.OVERLOADED, None),
        ({"kind": "server_error"}, FailureKind.TRANSIENT, None),
        ({"kind": "timeout"}, FailureKind.TRANSIENT, None),
        ({"kind": "cut_before"}, FailureKind.CUT, None),
        ({"kind": "cut_body"}, FailureKind.CUT, None),
        ({"kind": "bad_json"}, FailureKind.CUT, None),
    ],
    ids=lambda value: value["kind"] if isinstance(value, dict) else "",
)
async def test_every_way_to_fail_has_its_kind(
    model: OpenAIModel,
    control: SimulatorControl,
    fault: dict[str, Any],
    kind: FailureKind,
    retry_after: float | None,
) -> None:
    await control.fault(next=1, **fault)

    with pytest.raises(ModelFailure) as caught:
        await ask(model, a_request("secret words"))

    assert (caught.value.kind, caught.value.retry_after) == (kind, retry_after)
    assert "secret" not in caught.value.sentence
    assert len(await control.requests()) == 1, "nothing is tried twice"


async def test_other_ends_of_a_call(simulator: RunningSimulator, control: SimulatorControl) -> None:
    impatient = OpenAIModel("key", f"{simulator.base_url}/v1", LlmSettings(timeout_seconds=1), RealClock())
    nobody = OpenAIModel("key", "http://127.0.0.1:9/v1", LlmSettings(), RealClock())
    kinds = []
    await control.fault("slow", next=2, delay=5)
    for chat, request, seconds in (
        (impatient, a_request(), 30),
        (impatient, a_request(), 0.2),
        (nobody, a_request(), 30),
        (impatient, a_request(model=Model(OPENAI, "gpt-unheard-of")), 30),
    ):
        with pytest.raises(ModelFailure) as caught:
            await ask(chat, request, seconds)
        kinds.append(caught.value.kind)
    await impatient.close()
    await nobody.close()

    assert kinds == [FailureKind.TIMEOUT, FailureKind.DEADLINE, FailureKind.TRANSIENT, FailureKind.MODEL_GONE]


async def test_a_key_that_is_not_taken_leaves_time_to_repair_it() -> None:
    with running_simulator(api_keys=("the-good-one",)) as strict:
        chat = OpenAIModel("another", f"{strict.base_url}/v1", LlmSettings(), RealClock())
        with pytest.raises(ModelFailure) as caught:
            await ask(chat, a_request())
        await chat.close()

    assert (caught.value.kind, caught.value.sentence) == (
        FailureKind.TRANSIENT,
        "the provider answered 401 invalid_api_key",
    )


@pytest.mark.parametrize(("fault", "stop"), [("refusal", Stop.REFUSED), ("max_tokens", Stop.CUT), ("empty", Stop.END)])
async def test_why_it_stopped_is_told_in_our_words(
    model: OpenAIModel, control: SimulatorControl, fault: str, stop: Stop
) -> None:
    await control.script({"text": "a long answer that is worth being cut in the middle"})
    await control.fault(fault, next=1)

    assert (await ask(model, a_request())).stop is stop


async def test_texts_become_unit_vectors_in_their_order(model: OpenAIModel, control: SimulatorControl) -> None:
    texts = ["le chat dort", "un chat dort ici", "le vélo roule", ""]
    deadline = time.monotonic() + 20

    vectors, usage, request_id, _ = await model.embed(CallId("e.1"), SMALL, texts, 512, deadline)

    def close(a: int, b: int) -> float:
        return sum(x * y for x, y in zip(vectors[a], vectors[b], strict=True))

    (seen,) = await control.requests()
    assert ([len(vector) for vector in vectors], request_id) == ([512] * 4, seen.request_id)
    assert close(0, 0) == pytest.approx(1)
    assert close(0, 1) > close(0, 2)
    assert seen.answer is None
    assert usage.input > 0
    assert (seen.task, seen.headers["x-replique-call"]) == ("embeddings", "e.1")


async def test_a_name_that_the_provider_does_not_know_is_told_apart(model: OpenAIModel) -> None:
    with pytest.raises(ModelFailure) as caught:
        await ask(model, a_request("secret words", model=Model(OPENAI, "gpt-unheard-of")))

    assert (caught.value.kind, caught.value.sentence) == (
        FailureKind.MODEL_GONE,
        "the provider answered 404 model_not_found",
    )


@pytest.fixture
async def run(simulator: RunningSimulator, control: SimulatorControl) -> AsyncIterator[Any]:
    """One run of the whole pipeline with both providers: decision and what was saved."""
    configured = settings(ANTHROPIC_BASE_URL=simulator.base_url, OPENAI_BASE_URL=f"{simulator.base_url}/v1")
    llm = build(configured, RealClock())
    breaker = OwnBreaker(RealClock(), Rules(failures=100))

    class Shared:
        async def admits(self, model: Model) -> bool:
            return breaker.admits(model)

        async def failed(self, model: Model) -> None:
            breaker.failed(model)

        async def answered(self, model: Model) -> None:
            breaker.answered(model)

    pipeline = ReplyPipeline(RealClock(), llm.models, llm.prices, configured, breaker=Shared())

    async def once(resume: Any = None, **fields: Any) -> tuple[Any, MemoryKeep]:
        keep = MemoryKeep()
        return await pipeline.run(a_case("coucou, tu fais quoi ?", **fields), resume or a_resume(), keep), keep

    yield once
    for chat in llm.models.values():
        await chat.close()  # type: ignore[attr-defined]


def trying(times: int) -> Any:
    return replace(a_resume(), tries=times)


async def test_an_outage_parks_first_and_is_stood_in_for_the_next_time(run: Any, control: SimulatorControl) -> None:
    await control.fault("overloaded", seconds=60, model="claude")

    parked, _ = await run()
    reply, keep = await run(trying(1))

    assert isinstance(parked, Parked)
    assert isinstance(reply, Reply)
    assert {step.call.model.name for step in keep.steps} == {"gpt-6-luna"}
    seen = {request.headers["x-replique-call"]: request for request in await control.requests()}
    rows = {call.call: call for call in (*keep.failed, *(step.call for step in keep.steps))}
    assert set(rows) | {parked.call.call} == set(seen), "one row for each attempt"
    assert all(rows[call].model.name == seen[call].model for call in rows)
    assert [call.outcome for call in keep.failed] == ["overloaded"], "the review asks the model that stands in at once"
    assert await control.refusals() == []


async def test_a_run_goes_over_to_the_other_provider_in_the_middle_and_back(
    run: Any, control: SimulatorControl
) -> None:
    await control.script({"calls": [{"name": "set_plan", "input": {"plan": "demander pour Lyon"}}]}, task="reply")
    parked, keep = await run()
    assert isinstance(parked, Reply)
    before = keep.resume(1)

    await control.fault("server_error", seconds=60, model="claude", task="reply")
    reply, other = await run(replace(before, tries=1))

    assert isinstance(reply, Reply)
    moved = [seen for seen in await control.requests() if seen.path == "/v1/chat/completions"]
    assert '"moved_1"' in moved[0].body
    assert "toolu_" not in moved[0].body
    assert other.steps[0].call.model.name == "gpt-6-luna"

    await control.reset()
    await control.fault("server_error", seconds=60, model="gpt")
    steps = (*before.steps, SavedStep(other.steps[0].n, other.steps[0].task, other.steps[0].content))
    again, third = await run(replace(before, steps=steps, tries=1, fence=3))

    assert isinstance(again, Reply)
    back = [seen for seen in await control.requests() if seen.path == "/v1/messages"]
    assert '"moved_1"' in back[0].body
    assert "call_" not in back[0].body
    assert third.steps[0].call.model.name == "claude-haiku-5-5"
    assert await control.refusals() == []


async def test_a_model_that_is_gone_is_stood_in_for_in_the_same_claim(run: Any, control: SimulatorControl) -> None:
    models = {"reply": "claude-unheard-of,gpt-6-luna", "review": "claude-unheard-of,gpt-6-luna"}

    reply, keep = await run(organization={"models": models})

    assert isinstance(reply, Reply)
    assert {step.call.model.name for step in keep.steps} == {"gpt-6-luna"}
    assert {(call.model.name, call.outcome) for call in keep.failed} == {("claude-unheard-of", "model_gone")}
    assert len(keep.failed) == 1, "the review asks the model that stands in at once"


async def test_alone_on_its_route_it_is_waited_for(run: Any) -> None:
    parked, _ = await run(organization={"models": {"reply": "claude-unheard-of"}})

    assert isinstance(parked, Parked)
    assert (parked.kind, parked.counts) == (FailureKind.MODEL_GONE, True)


async def test_money_is_set_aside_for_the_model_that_is_then_asked(run: Any, control: SimulatorControl) -> None:
    reply, keep = await run(organization={"models": {"review": "gpt-6-luna"}})

    assert isinstance(reply, Reply)
    seen = {request.headers["x-replique-call"]: request.model for request in await control.requests()}
    assert {held.call: held.model.name for held in keep.reserved} == seen
    assert [held.task.value for held in keep.reserved if held.model.name == "gpt-6-luna"] == ["review"]
    assert len(keep.reserved) == len(seen), "each is set aside once"


async def test_a_rate_limit_is_no_outage(run: Any, control: SimulatorControl) -> None:
    await control.fault("rate_limited", seconds=60, model="claude", retry_after=7)

    parked, _ = await run(trying(5))

    assert isinstance(parked, Parked)
    assert (parked.kind, parked.counts, parked.retry_after) == (FailureKind.RATE_LIMITED, False, 7.0)
    assert {seen.model for seen in await control.requests()} == {"claude-haiku-5-5"}


async def test_with_every_model_down_the_job_waits(run: Any, control: SimulatorControl) -> None:
    await control.fault("overloaded", seconds=60)

    parked, keep = await run(trying(1))

    assert isinstance(parked, Parked)
    assert parked.counts
    assert [call.model.provider for call in keep.failed] == ["anthropic"]
    assert parked.call.model.provider == "openai"
    notes = [item.facts for item in parked.trace if item.kind is TraceKind.NOTE]
    assert notes[0] == {"note": "another model stands in", "model": "openai:gpt-6-luna", "failure": "overloaded"}
