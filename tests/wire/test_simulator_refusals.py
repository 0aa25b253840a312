"""Each request that the Messages API would refuse is refused here, in its kind of words, and kept."""

import json
from typing import Any

import anthropic
import httpx2
import pytest
from anthropic import AsyncAnthropic

from tests.simulator import RunningSimulator
from workers.simulator.control import SimulatorControl

MODEL = "claude-haiku-5-5"
TOOL = {"name": "look", "input_schema": {"type": "object", "properties": {"at": {"type": "string"}}}}
CALL = {"type": "tool_use", "id": "toolu_1", "name": "look", "input": {}}
RESULT = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "seen"}
TEXT = {"type": "text", "text": "Hello"}


def user(*content: Any) -> dict[str, Any]:
    return {"role": "user", "content": list(content) or "Hello"}


def assistant(*content: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": list(content) or "Hi"}


def request(**changes: Any) -> dict[str, Any]:
    return {"model": MODEL, "max_tokens": 50, "messages": [user()], **changes}


def messages(*rows: dict[str, Any], **changes: Any) -> dict[str, Any]:
    return {"messages": list(rows), **changes}


def tool(**changes: Any) -> dict[str, Any]:
    return {"tools": [{**TOOL, **changes}]}


def schema(**members: Any) -> dict[str, Any]:
    wanted = {
        "type": "object",
        "properties": members,
        "required": list(members),
        "additionalProperties": False,
    }
    return {"output_config": {"format": {"type": "json_schema", "schema": wanted}}}


FIELDS = [
    ({"max_tokens": None}, "max_tokens: Input should be a valid integer"),
    (
        {"max_tokens": 128_001},
        "max_tokens: 128001 > 128000, which is the maximum allowed number of output tokens",
    ),
    ({"max_tokens": -1}, "max_tokens: Input should be greater than or equal to 0"),
    ({"max_tokens": 0, "stream": True}, "max_tokens: 0 only warms the cache"),
    ({"stop_sequences": [" "]}, "stop_sequences: each stop sequence must contain non-whitespace"),
    ({"metadata": {"user": "u"}}, "metadata.user: Extra inputs are not permitted"),
    ({"service_tier": "gold"}, "service_tier: Input should be"),
    ({"extra_body": {"temperature": 1.0}}, "temperature: Extra inputs are not permitted"),
    ({"extra_body": {"top_k": 4}}, "top_k: Extra inputs are not permitted"),
    ({"extra_body": {"functions": []}}, "functions: Extra inputs are not permitted"),
]
CONVERSATIONS = [
    (messages(), "messages: at least one message is required"),
    (messages(assistant(), user()), 'messages: first message must use the "user" role'),
    (messages(user(), assistant()), "does not support assistant message prefill"),
    (messages({"role": "tool", "content": "x"}), "messages.0.role: Input should be 'user' or 'assistant'"),
    (messages(user(), {"role": "system", "content": "x"}), 'Unexpected role "system"'),
    (messages({"role": "user", "content": ""}), "messages.0: all messages must have non-empty content"),
    (messages({"role": "user", "content": []}), "messages.0: all messages must have non-empty content"),
    (messages({**user(), "name": "x"}), "messages.0.name: Extra inputs are not permitted"),
    (messages(user({"type": "text", "text": ""})), "messages: text content blocks must be non-empty"),
    (
        messages(user({"type": "text", "text": " \n"})),
        "messages: text content blocks must contain non-whitespace",
    ),
    (messages(user({"type": "text"})), "messages.0.content.0.text.text: Field required"),
    (messages(user({**TEXT, "id": 1})), "messages.0.content.0.text.id: Extra inputs are not permitted"),
    (messages(user({"type": "txt"})), "messages.0.content.0: Input tag 'txt' found using 'type'"),
    (messages(user(CALL)), "messages.0: `tool_use` blocks can only be in `assistant` messages"),
    ({"system": [{"type": "text", "text": ""}]}, "system: text content blocks must be non-empty"),
]
PAIRS = [
    (
        messages(user(), assistant(CALL), user()),
        "messages.2: `tool_use` ids were found without `tool_result`",
    ),
    (
        messages(user(), assistant(CALL), user(TEXT, RESULT)),
        "`tool_use` ids were found without `tool_result`",
    ),
    (
        messages(user(), assistant(CALL, {**CALL, "id": "toolu_2"}), user(RESULT)),
        "immediately after: toolu_2. Each `tool_use` block must have",
    ),
    (
        messages(user(), assistant(CALL), user(RESULT), assistant(TEXT), user(RESULT)),
        "messages.4.content.0: unexpected `tool_use_id` found in `tool_result` blocks: toolu_1",
    ),
    (messages(user(RESULT)), "messages.0.content.0: unexpected `tool_use_id`"),
    (messages(user(), assistant(CALL, CALL), user(RESULT)), "messages.1: `tool_use` ids must be unique"),
    (
        messages(user(), assistant(CALL), user(RESULT), assistant(CALL), user(RESULT)),
        "messages.3: `tool_use` ids must be unique",
    ),
    (messages(user(), assistant(CALL), user(RESULT, RESULT)), "each tool_use must have a single result"),
    (
        messages(user(), assistant({**CALL, "input": "{}"}), user(RESULT)),
        "tool_use.input: Input should be a valid dict",
    ),
    (
        messages(user(), assistant({**CALL, "id": "a b"}), user(RESULT)),
        "tool_use.id: String should match pattern",
    ),
]
TOOLS = [
    (
        tool(name="no spaces"),
        r"tools.0.custom.name: String should match pattern '\^\[a-zA-Z0-9_-\]\{1,128\}\$'",
    ),
    (tool(name="n" * 129), "tools.0.custom.name: String should match pattern"),
    ({"tools": [TOOL, TOOL]}, "tools: Tool names must be unique."),
    ({"tools": [{"name": "look"}]}, "tools.0.custom.input_schema: Field required"),
    (tool(input_schema={"type": "string"}), "tools.0.custom.input_schema.type: Input should be 'object'"),
    (tool(parameters={}), "tools.0.custom.parameters: Extra inputs are not permitted"),
    (tool(strict=True), "'additionalProperties' must be explicitly set to false"),
    (tool(defer_loading=True, cache_control={"type": "ephemeral"}), "cache_control cannot be set on a tool"),
    ({"tool_choice": {"type": "auto"}}, "tool_choice may only be specified while providing tools"),
    ({**tool(), "tool_choice": {"type": "tool", "name": "jump"}}, "Tool 'jump' not found in provided tools"),
    ({**tool(), "tool_choice": {"type": "some"}}, "tool_choice: Input tag 'some'"),
    (
        {**tool(), "tool_choice": {"type": "any"}, "model": "claude-sonnet-5-5"},
        'tool_choice: type "tool" and "any" are not supported for this model.',
    ),
]
THINKING = [
    (
        {"model": "claude-haiku-5-5", "thinking": {"type": "enabled", "budget_tokens": 2_000}},
        "thinking.type.enabled",
    ),
    (
        {"model": "claude-opus-5-5", "thinking": {"type": "disabled"}},
        '"thinking.type.disabled" is not supported',
    ),
    (
        {"model": "claude-haiku-4-5", "thinking": {"type": "adaptive"}},
        "adaptive thinking is not supported on this",
    ),
    (
        {"thinking": {"type": "disabled"}, "output_config": {"effort": "max"}},
        '"thinking.type.disabled" is not supported for this model at effort above "high"',
    ),
    (
        {"model": "claude-haiku-4-5", "thinking": {"type": "enabled", "budget_tokens": 1_000}},
        "budget_tokens: Input should be greater than or equal to 1024",
    ),
    (
        {
            "model": "claude-haiku-4-5",
            "max_tokens": 2_000,
            "thinking": {"type": "enabled", "budget_tokens": 2_000},
        },
        "`max_tokens` must be greater than `thinking.budget_tokens`",
    ),
    ({"thinking": {"type": "deep"}}, "thinking: Input tag 'deep'"),
    ({"output_config": {"effort": "huge"}}, "output_config.effort: Input should be 'low'"),
    (
        {"model": "claude-haiku-4-5", "output_config": {"effort": "low"}},
        "does not support the effort parameter",
    ),
]
SCHEMAS = [
    (
        schema(age={"type": "integer", "minimum": 0}),
        "For 'integer' type, properties minimum are not supported",
    ),
    (
        schema(name={"type": "string", "maxLength": 5}),
        "For 'string' type, properties maxLength are not supported",
    ),
    (
        schema(tags={"type": "array", "items": {"type": "string"}, "minItems": 2}),
        "'minItems' values other than 0 or 1",
    ),
    (
        schema(inner={"type": "object", "properties": {}}),
        "'additionalProperties' must be explicitly set to false",
    ),
    ({"output_config": {"format": {"type": "json_object"}}}, "output_config.format.type: Input should be"),
    ({"output_config": {"format": {"type": "json_schema"}}}, "output_config.format.schema: Field required"),
    ({"output_config": {"style": "x"}}, "output_config.style: Extra inputs are not permitted"),
]


@pytest.mark.parametrize(
    ("changes", "sentence"), [*FIELDS, *CONVERSATIONS, *PAIRS, *TOOLS, *THINKING, *SCHEMAS], ids=str
)
async def test_the_request_is_refused_and_the_refusal_kept(
    client: AsyncAnthropic, control: SimulatorControl, changes: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(anthropic.BadRequestError, match=sentence.replace("(", r"\(")) as raised:
        await client.messages.create(**request(**changes))

    assert raised.value.type == "invalid_request_error"
    (seen,) = await control.requests(refused=True)
    assert (seen.status, seen.usage, seen.refused) == (400, None, raised.value.api_message)


async def test_an_unknown_model_is_not_found(client: AsyncAnthropic, control: SimulatorControl) -> None:
    with pytest.raises(anthropic.NotFoundError, match="model: claude-nobody"):
        await client.messages.create(**request(model="claude-nobody"))

    assert await control.refusals() == ["model: claude-nobody"]


async def test_a_prompt_over_the_models_context_is_too_long(client: AsyncAnthropic) -> None:
    with pytest.raises(anthropic.BadRequestError, match="prompt is too long: 200003 tokens > 200000 maximum"):
        await client.messages.create(
            **request(model="claude-haiku-4-5", messages=[user({**TEXT, "text": "x" * 800_000})])
        )


OLD = {"anthropic-version": "2023-06-01"}


async def test_sampling_passes_for_old_models_under_the_old_version_only(client: AsyncAnthropic) -> None:
    sampling = {"extra_body": {"temperature": 0.5}, "extra_headers": OLD}

    assert (await client.messages.create(**request(model="claude-haiku-4-5", **sampling))).type == "message"
    with pytest.raises(anthropic.BadRequestError, match="`temperature` is not supported for this model"):
        await client.messages.create(**request(**sampling))


ACCEPTED = [
    messages(user(TEXT), user(TEXT)),
    messages(user(), assistant(CALL), user(RESULT, TEXT)),
    messages(user(), assistant(TEXT, CALL), user(RESULT), user(TEXT)),
    messages(user(), {"role": "system", "content": "x"}, user(), model="claude-opus-5"),
    messages(user(), {"role": "assistant", "content": "Hi"}, model="claude-haiku-4-5"),
    {"thinking": {"type": "adaptive"}, "output_config": {"effort": "low"}},
    {"model": "claude-sonnet-5-5", "thinking": {"type": "between_tools"}},
    {**tool(), "tool_choice": {"type": "auto", "disable_parallel_tool_use": True}},
    {**tool(), "tool_choice": {"type": "tool", "name": "look"}},
    {"model": "claude-haiku-4-5-20251001"},
    schema(verdict={"enum": ["ok", "errors"]}, issues={"type": "array", "items": {"type": "string"}}),
]


@pytest.mark.parametrize("changes", ACCEPTED, ids=str)
async def test_what_the_api_takes_is_taken(
    client: AsyncAnthropic, control: SimulatorControl, changes: dict[str, Any]
) -> None:
    await client.messages.create(**request(**changes))

    assert await control.refusals() == []


GOOD = json.dumps(request()).encode()
KEY = {"x-api-key": "k", "anthropic-version": "2026-10-21"}
RAW = [
    (b"{", KEY, 400, "The request body is not valid JSON"),
    (b"[]", KEY, 400, "Input should be a valid dictionary"),
    (GOOD.replace(b"Hello", b"\xff"), KEY, 400, "can't decode byte 0xff"),
    (GOOD.replace(b"Hello", b"a\\ud83d b"), KEY, 400, "no low surrogate in string"),
    (GOOD.replace(b"Hello", b"a\\udc00"), KEY, 400, "no low surrogate in string"),
    (GOOD.replace(b"50", b"NaN"), KEY, 400, "unexpected NaN"),
    (b'{"model":"claude-haiku-5-5","messages":[]}', KEY, 400, "max_tokens: Field required"),
    (b'{"max_tokens":5,"messages":[]}', KEY, 400, "model: Field required"),
    (b" " * (32 * 1024 * 1024 + 1), KEY, 413, "Request exceeds the maximum size"),
    (GOOD, {"anthropic-version": "2026-10-21"}, 401, "x-api-key header is required"),
    (GOOD, {"x-api-key": "k"}, 400, "anthropic-version: header is required"),
    (GOOD, {"x-api-key": "k", "anthropic-version": "1999-01-01"}, 400, "is not a valid version"),
]


@pytest.mark.parametrize(("body", "headers", "status", "sentence"), RAW, ids=[row[3] for row in RAW])
async def test_broken_bytes_and_headers_are_refused(
    simulator: RunningSimulator,
    control: SimulatorControl,
    body: bytes,
    headers: dict[str, str],
    status: int,
    sentence: str,
) -> None:
    async with httpx2.AsyncClient(base_url=simulator.base_url) as http:
        answer = await http.post("/v1/messages", content=body, headers=headers)

    assert answer.status_code == status
    assert sentence in answer.json()["error"]["message"]
    assert answer.json()["request_id"] == answer.headers["request-id"]
    assert [(seen.status, seen.refused) for seen in await control.requests()] == [
        (status, answer.json()["error"]["message"])
    ]


async def test_an_emoji_as_a_surrogate_pair_is_fine(simulator: RunningSimulator) -> None:
    async with httpx2.AsyncClient(base_url=simulator.base_url) as http:
        body = GOOD.replace(b"Hello", b"\\ud83d\\ude00 \\\\ud800")
        assert (await http.post("/v1/messages", content=body, headers=KEY)).status_code == 200


async def test_an_unknown_path_is_not_found(simulator: RunningSimulator) -> None:
    async with httpx2.AsyncClient(base_url=simulator.base_url) as http:
        answer = await http.get("/v1/complete")

    assert (answer.status_code, answer.json()["error"]["type"]) == (404, "not_found_error")
