"""What a client of the Messages API meets when it talks to the simulator."""

import asyncio
import json
from typing import Any

import anthropic
import httpx2
import pytest
from anthropic import AsyncAnthropic

from tests.simulator import RunningSimulator, running_simulator
from workers.simulator.control import ControlRefused, SimulatorControl

MODEL = "claude-haiku-5-5"
SEND = {
    "name": "send_message",
    "description": "Queue one text bubble.",
    "input_schema": {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]},
}
PLAN = {
    "name": "set_plan",
    "input_schema": {"type": "object", "properties": {"plan": {"type": "string"}}, "required": ["plan"]},
}
VERDICT = {
    "type": "object",
    "properties": {"verdict": {"type": "string"}, "issues": {"type": "array", "items": {"type": "string"}}},
    "required": ["verdict", "issues"],
    "additionalProperties": False,
}


def request(**changes: Any) -> dict[str, Any]:
    body: dict[str, Any] = {
        "model": MODEL,
        "max_tokens": 500,
        "messages": [{"role": "user", "content": "Hello"}],
    }
    return {**body, **changes}


async def test_a_scripted_text_comes_back_as_a_message(
    client: AsyncAnthropic, control: SimulatorControl
) -> None:
    await control.script({"text": "Bonsoir !"})

    message = await client.messages.create(**request())

    assert (message.model, message.stop_reason, message.content[0].text) == (MODEL, "end_turn", "Bonsoir !")
    assert message.usage.model_dump(exclude_none=True) == {
        "input_tokens": 4,
        "output_tokens": 5,
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": 0,
        "cache_creation": {"ephemeral_5m_input_tokens": 0, "ephemeral_1h_input_tokens": 0},
        "service_tier": "standard",
    }


async def test_a_tool_loop_runs_to_its_end(client: AsyncAnthropic, control: SimulatorControl) -> None:
    await control.script(
        {"calls": [{"name": "send_message", "input": {"text": "Coucou"}}]}, {"text": "Done."}
    )

    first = await client.messages.create(**request(tools=[SEND]))
    call = first.content[0]
    history = [
        {"role": "user", "content": "Hello"},
        {"role": "assistant", "content": first.content},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": call.id, "content": "queued"}]},
    ]
    second = await client.messages.create(**request(tools=[SEND], messages=history))

    assert (first.stop_reason, call.name, call.input) == ("tool_use", "send_message", {"text": "Coucou"})
    assert (second.stop_reason, second.content[0].text) == ("end_turn", "Done.")
    assert await control.refusals() == []


async def test_a_stream_carries_the_same_message(client: AsyncAnthropic, control: SimulatorControl) -> None:
    turn = {
        "text": "Un petit mot, assez long pour deux morceaux.",
        "calls": [{"name": "send_message", "input": {"text": "é"}}],
    }
    await control.script(turn, repeat=True)

    whole = await client.messages.create(**request(tools=[SEND]))
    async with client.messages.stream(**request(tools=[SEND])) as stream:
        streamed = await stream.get_final_message()

    assert [(b.type, getattr(b, "text", None), getattr(b, "input", None)) for b in streamed.content] == [
        ("text", turn["text"], None),
        ("tool_use", None, {"text": "é"}),
    ]
    assert (streamed.stop_reason, streamed.usage.output_tokens) == ("tool_use", whole.usage.output_tokens)


async def test_headers_are_those_of_the_api_and_say_that_this_is_a_simulator(client: AsyncAnthropic) -> None:
    raw = await client.messages.with_raw_response.create(**request())

    assert raw.headers["request-id"].startswith("req_")
    assert raw.headers["x-replique-simulator"] == "true"
    assert raw.headers["anthropic-ratelimit-requests-limit"] == "1000"
    assert raw.headers["anthropic-ratelimit-requests-remaining"] == "999"
    assert "anthropic-organization-id" in raw.headers


async def test_the_rate_limit_headers_look_back_one_minute(
    client: AsyncAnthropic, control: SimulatorControl
) -> None:
    remaining = []
    for wait in (0, 30, 31):
        await control.advance(wait)
        raw = await client.messages.with_raw_response.create(**request())
        remaining.append(raw.headers["anthropic-ratelimit-requests-remaining"])

    assert remaining == ["999", "998", "998"]


async def test_the_request_is_kept_as_it_was_sent(client: AsyncAnthropic, control: SimulatorControl) -> None:
    await control.script({"text": "ok"})

    message = await client.messages.create(**request(), extra_headers={"x-replique-call": "call-1"})

    (seen,) = await control.requests()
    assert seen.json() == request()
    assert (seen.headers["x-replique-call"], seen.headers["authorization"]) == ("call-1", "present")
    assert (seen.task, seen.model, seen.status, seen.refused) == ("reply", MODEL, 200, None)
    assert seen.answer is not None
    assert seen.answer["id"] == message.id
    assert seen.request_id == message._request_id


async def test_count_tokens_counts_what_a_call_is_billed(client: AsyncAnthropic) -> None:
    body = request(tools=[SEND], system="Be kind.")
    counted = await client.messages.count_tokens(**{k: v for k, v in body.items() if k != "max_tokens"})

    message = await client.messages.create(**body)

    assert counted.input_tokens == message.usage.input_tokens > 20


async def test_models_are_listed_and_found(client: AsyncAnthropic) -> None:
    listed = [model.id async for model in client.models.list()]

    assert {MODEL, "claude-haiku-4-5", "claude-sonnet-4-6"} <= set(listed)
    assert (await client.models.retrieve(MODEL)).display_name == "Claude Haiku 5.5"
    with pytest.raises(anthropic.NotFoundError):
        await client.models.retrieve("gpt-4o")


async def test_scripts_answer_by_text_and_task_and_the_newest_first(
    client: AsyncAnthropic, control: SimulatorControl
) -> None:
    await control.script({"text": "old"}, repeat=True)
    await control.script({"text": "new"})
    await control.script({"text": "mountain"}, match='say "mountain"')
    await control.script({"json": {"verdict": "errors", "issues": []}}, task="review")
    review = {"output_config": {"format": {"type": "json_schema", "schema": VERDICT}}}
    mountain = [{"role": "user", "content": 'say "mountain"'}]

    texts = [
        (await client.messages.create(**request(**changes))).content[0].text
        for changes in ({"messages": mountain}, {}, review, {})
    ]

    assert texts == ["mountain", "new", '{"verdict": "errors", "issues": []}', "old"]
    assert [seen.task for seen in await control.requests()] == ["reply", "reply", "review", "reply"]


async def test_raw_blocks_and_stops_are_given_as_written(
    client: AsyncAnthropic, control: SimulatorControl
) -> None:
    thinking = {"type": "thinking", "thinking": "hm", "signature": "s"}
    await control.script({"raw": [thinking, {"type": "text", "text": "a"}], "stop": "pause_turn"})

    async with client.messages.stream(**request()) as stream:
        message = await stream.get_final_message()

    assert [block.type for block in message.content] == ["thinking", "text"]
    assert (message.content[0].thinking, message.stop_reason) == ("hm", "pause_turn")


async def test_max_tokens_and_stop_sequences_cut_the_answer(
    client: AsyncAnthropic, control: SimulatorControl
) -> None:
    await control.script({"text": "one two three " * 20}, repeat=True)

    short = await client.messages.create(**request(max_tokens=10))
    stopped = await client.messages.create(**request(stop_sequences=["three"]))
    warm = await client.messages.create(**request(max_tokens=0))

    assert (short.stop_reason, short.usage.output_tokens) == ("max_tokens", 10)
    assert (stopped.stop_reason, stopped.stop_sequence, stopped.content[0].text) == (
        "stop_sequence", "three", "one two ",
    )  # fmt: skip
    assert (warm.stop_reason, warm.content, warm.usage.output_tokens) == ("max_tokens", [], 0)


ERRORS = [
    ("rate_limited", anthropic.RateLimitError, 429, "rate_limit_error", None, "7"),
    ("spend_cap", anthropic.RateLimitError, 429, "rate_limit_error", "enforced_spend_limit_reached", None),
    ("overloaded", anthropic.APIStatusError, 529, "overloaded_error", None, None),
    ("server_error", anthropic.InternalServerError, 500, "api_error", None, None),
    ("timeout", anthropic.APIStatusError, 504, "timeout_error", None, None),
]


@pytest.mark.parametrize(("kind", "error", "status", "type_", "code", "retry_after"), ERRORS)
async def test_an_error_answer_is_the_sdks_exception_and_bills_nothing(
    client: AsyncAnthropic,
    control: SimulatorControl,
    kind: str,
    error: type[anthropic.APIStatusError],
    status: int,
    type_: str,
    code: str | None,
    retry_after: str | None,
) -> None:
    await control.fault(kind, retry_after=7)

    with pytest.raises(error) as raised:
        await client.messages.create(**request())

    caught = raised.value
    assert (caught.status_code, caught.type, caught.error_code) == (status, type_, code)
    assert caught.response.headers.get("retry-after") == retry_after
    (seen,) = await control.requests()
    assert (seen.fault, seen.usage, seen.refused, seen.request_id) == (kind, None, None, caught.request_id)


@pytest.mark.parametrize("kind", ["cut_before", "cut_body"])
async def test_a_cut_call_is_billed_and_the_client_sees_a_broken_connection(
    client: AsyncAnthropic, control: SimulatorControl, kind: str
) -> None:
    await control.script({"text": "a text that never arrives whole"})
    await control.fault(kind)

    with pytest.raises(anthropic.APIConnectionError):
        await client.messages.create(**request())
    again = await client.messages.create(**request())

    cut, _ = await control.requests()
    assert cut.fault == kind
    assert cut.usage is not None
    assert cut.usage["output_tokens"] > 0
    assert again.content[0].text == "a text that never arrives whole"


@pytest.mark.parametrize(
    ("kind", "error"),
    # Once a stream flows, the SDK lets its HTTP library's own exception out.
    [("cut_before", anthropic.APIConnectionError), ("cut_body", httpx2.RemoteProtocolError)],
)
async def test_a_cut_stream_breaks_off(
    client: AsyncAnthropic, control: SimulatorControl, kind: str, error: type[Exception]
) -> None:
    await control.fault(kind)

    with pytest.raises(error):
        async with client.messages.stream(**request()) as stream:
            await stream.get_final_message()


async def test_an_error_in_mid_stream_has_status_200_and_its_type(
    client: AsyncAnthropic, control: SimulatorControl
) -> None:
    await control.fault("stream_error")

    with pytest.raises(anthropic.APIStatusError) as raised:
        async with client.messages.stream(**request()) as stream:
            await stream.get_final_message()

    assert (raised.value.status_code, raised.value.type) == (200, "overloaded_error")


async def test_bad_json_is_not_a_message(client: AsyncAnthropic, control: SimulatorControl) -> None:
    await control.fault("bad_json")

    with pytest.raises((anthropic.APIError, json.JSONDecodeError)):
        await client.messages.create(**request())


async def test_a_slow_answer_outlives_the_clients_patience(
    client: AsyncAnthropic, control: SimulatorControl
) -> None:
    await control.fault("slow", delay=1.0)

    with pytest.raises(anthropic.APITimeoutError):
        await client.with_options(timeout=0.2).messages.create(**request())


async def test_model_faults_change_the_answer_and_leave_the_script(
    client: AsyncAnthropic, control: SimulatorControl
) -> None:
    call = {"name": "send_message", "input": {"text": "Coucou, comment vas-tu ce soir ?"}}
    await control.script({"text": "Let me write something nice to them.", "calls": [call]})
    answers = {}
    for kind in ("wrong_arguments", "refusal", "max_tokens", "empty"):
        await control.fault(kind)
        answers[kind] = await client.messages.create(**request(tools=[SEND]))

    whole = await client.messages.create(**request(tools=[SEND]))

    assert answers["wrong_arguments"].content[0].input == {"no_such_argument": True}
    assert (answers["refusal"].stop_reason, answers["refusal"].content) == ("refusal", [])
    assert (answers["max_tokens"].stop_reason, len(answers["max_tokens"].content)) == ("max_tokens", 1)
    assert (answers["empty"].stop_reason, answers["empty"].content) == ("end_turn", [])
    assert whole.content[1].input == call["input"]


async def test_broken_structured_output_is_not_json(
    client: AsyncAnthropic, control: SimulatorControl
) -> None:
    await control.fault("bad_output", task="review")
    output = {"format": {"type": "json_schema", "schema": VERDICT}}

    broken = await client.messages.create(**request(output_config=output))
    whole = await client.messages.create(**request(output_config=output))

    with pytest.raises(json.JSONDecodeError):
        json.loads(broken.content[0].text)
    assert json.loads(whole.content[0].text) == {"verdict": "ok", "issues": []}


async def test_an_outage_hits_its_aim_for_its_time(client: AsyncAnthropic, control: SimulatorControl) -> None:
    await control.fault("overloaded", seconds=60, model="claude-haiku")

    async def status(model: str) -> int:
        try:
            return (await client.messages.with_raw_response.create(**request(model=model))).status_code
        except anthropic.APIStatusError as error:
            return error.status_code

    during = [await status(MODEL), await status("claude-sonnet-5-5"), await status(MODEL)]
    await control.advance(59)
    nearly = await status(MODEL)
    await control.advance(1)

    assert (during, nearly, await status(MODEL)) == ([529, 200, 529], 529, 200)


async def test_a_fault_written_in_a_turn_belongs_to_it(
    client: AsyncAnthropic, control: SimulatorControl
) -> None:
    await control.script({"text": "never", "fault": {"kind": "overloaded"}}, {"text": "then"})

    with pytest.raises(anthropic.APIStatusError):
        await client.messages.create(**request())

    assert (await client.messages.create(**request())).content[0].text == "then"


async def test_a_misspelt_script_or_fault_is_refused_by_name(control: SimulatorControl) -> None:
    with pytest.raises(ControlRefused, match="unknown fields: txet"):
        await control.script({"txet": "a"})
    with pytest.raises(ControlRefused, match="earthquake"):
        await control.fault("earthquake")
    with pytest.raises(ControlRefused, match="backwards"):
        await control.advance(-1)


async def test_only_known_keys_pass_when_keys_are_set() -> None:
    with running_simulator(api_keys=("good",)) as simulator:
        good = AsyncAnthropic(api_key="good", base_url=simulator.base_url, max_retries=0)
        bad = AsyncAnthropic(api_key="bad", base_url=simulator.base_url, max_retries=0)
        async with good, bad:
            assert (await good.messages.create(**request())).type == "message"
            assert (
                await bad.messages.create(**request(), extra_headers={"x-api-key": "good"})
            ).type == "message"
            with pytest.raises(anthropic.AuthenticationError) as raised:
                await bad.messages.create(**request())

    assert raised.value.type == "authentication_error"


async def test_parallel_calls_are_each_answered_and_counted(
    client: AsyncAnthropic, control: SimulatorControl
) -> None:
    await control.script({"text": "ok"}, repeat=True)

    messages = await asyncio.gather(*(client.messages.create(**request()) for _ in range(20)))

    usage = await control.usage()
    assert len({message.id for message in messages}) == 20
    assert (usage["requests"], usage["answered"], usage["tokens"]["input_tokens"]) == (20, 20, 80)


async def test_the_journal_keeps_a_bounded_number(
    simulator: RunningSimulator, client: AsyncAnthropic
) -> None:
    for _ in range(3):
        await client.messages.create(**request())
    journal = simulator.state.journal
    journal._max_requests, before = 2, journal._max_requests
    try:
        await client.messages.create(**request())
    finally:
        journal._max_requests = before

    assert ([row["n"] for row in journal.since(0)], journal.totals.requests) == ([3, 4], 4)
