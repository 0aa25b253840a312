"""Our form to the Messages API and back."""

import json
from typing import Any

import pytest

from pipelines.llm.dialects.anthropic import from_wire, to_wire
from schemas.ids import CallId
from schemas.llm import (
    Message,
    Model,
    ModelRequest,
    Raw,
    Stop,
    Task,
    Text,
    ToolCall,
    ToolResult,
    ToolSpec,
    ToolUse,
    Ttl,
    Usage,
)
from tests.fakes import HAIKU


def a_request(model: Model = HAIKU, task: Task = Task.REPLY, **fields: Any) -> ModelRequest:
    return ModelRequest(
        CallId("1.1.1"), task, model, (Text("rules", Ttl.ONE_HOUR),), (Message("user", (Text("hi"),)),), 4000, **fields
    )


def test_a_whole_request() -> None:
    request = ModelRequest(
        call=CallId("7.1.1"),
        task=Task.REVIEW,
        model=HAIKU,
        system=(Text("rules"), Text("persona", Ttl.ONE_HOUR)),
        messages=(
            Message("user", (Text("hi"),)),
            Message("assistant", (Raw({"type": "thinking", "signature": "s"}), ToolUse("a", "t", {"z": 1, "b": 2}))),
            Message("user", (ToolResult("a", "no", True), ToolResult("b", "yes", cache=Ttl.FIVE_MINUTES))),
        ),
        max_tokens=100,
        tools=(ToolSpec("t", "does t", {"type": "object"}),),
        output_schema={"type": "object"},
    )

    assert json.dumps(to_wire(request)) == json.dumps(
        {
            "model": "claude-haiku-5-5",
            "max_tokens": 100,
            "thinking": {"type": "disabled"},
            "output_config": {"format": {"type": "json_schema", "schema": {"type": "object"}}},
            "tools": [{"name": "t", "description": "does t", "input_schema": {"type": "object"}}],
            "system": [
                {"type": "text", "text": "rules"},
                {"type": "text", "text": "persona", "cache_control": {"type": "ephemeral", "ttl": "1h"}},
            ],
            "messages": [
                {"role": "user", "content": [{"type": "text", "text": "hi"}]},
                {
                    "role": "assistant",
                    "content": [
                        {"type": "thinking", "signature": "s"},
                        {"type": "tool_use", "id": "a", "name": "t", "input": {"z": 1, "b": 2}},
                    ],
                },
                {
                    "role": "user",
                    "content": [
                        {"type": "tool_result", "tool_use_id": "a", "content": "no", "is_error": True},
                        {
                            "type": "tool_result",
                            "tool_use_id": "b",
                            "content": "yes",
                            "cache_control": {"type": "ephemeral", "ttl": "5m"},
                        },
                    ],
                },
            ],
        }
    )


@pytest.mark.parametrize(
    ("model", "task", "off"),
    [
        ("claude-haiku-5-5", Task.REPLY, True),
        ("claude-haiku-5-5", Task.REVIEW, True),
        ("claude-haiku-5-5", Task.ASSISTANT, False),
        ("claude-sonnet-5", Task.REPLY, True),
        ("claude-opus-5", Task.REPLY, True),
        ("claude-sonnet-5-5", Task.REPLY, False),
        ("claude-opus-5-5", Task.REPLY, False),
        ("claude-fable-5-2", Task.REPLY, False),
        ("claude-haiku-4-5", Task.REPLY, False),
        ("claude-sonnet-4-6", Task.REPLY, False),
    ],
)
def test_thinking_is_switched_off_for_short_work_where_the_model_allows_it(model: str, task: Task, off: bool) -> None:
    wire = to_wire(a_request(Model("anthropic", model), task))

    assert wire.get("thinking") == ({"type": "disabled"} if off else None)


def test_an_answer_keeps_its_blocks_and_tells_cache_writes_apart() -> None:
    content = [
        {"type": "text", "text": "let me see\0"},
        {"type": "tool_use", "id": "x", "name": "t", "input": {"b": 1, "a": "\ud800"}},
        {"type": "tool_use", "id": "y", "name": "t", "input": "not an object"},
    ]
    usage = {
        "input_tokens": 1,
        "cache_read_input_tokens": 2,
        "cache_creation_input_tokens": 7,
        "cache_creation": {"ephemeral_5m_input_tokens": 3, "ephemeral_1h_input_tokens": 4},
        "output_tokens": 5,
    }

    answer = from_wire(
        {"type": "message", "content": content, "stop_reason": "tool_use", "usage": usage}, HAIKU, "req_1", 9
    )

    assert (
        json.dumps(answer.content[1])
        == '{"type": "tool_use", "id": "x", "name": "t", "input": {"b": 1, "a": "\\ufffd"}}'
    )
    assert (answer.text, answer.calls, answer.stop, answer.usage, answer.request_id, answer.latency_ms) == (
        "let me see",
        (ToolCall("x", "t", {"b": 1, "a": "\ufffd"}), ToolCall("y", "t", {})),
        Stop.TOOLS,
        Usage(1, 2, 3, 4, 5),
        "req_1",
        9,
    )


@pytest.mark.parametrize(
    ("reason", "stop"),
    [
        ("end_turn", Stop.END),
        ("stop_sequence", Stop.END),
        ("max_tokens", Stop.CUT),
        ("model_context_window_exceeded", Stop.CUT),
        ("refusal", Stop.REFUSED),
        ("something_new", Stop.END),
        (None, Stop.END),
    ],
)
def test_why_it_stopped(reason: str | None, stop: Stop) -> None:
    body = {"type": "message", "content": [], "stop_reason": reason, "usage": {}}

    assert from_wire(body, HAIKU, None, 0).stop is stop


@pytest.mark.parametrize("body", [{}, {"type": "error"}, {"type": "message"}, {"type": "message", "content": "x"}])
def test_what_is_no_message_is_refused(body: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="not a message"):
        from_wire(body, HAIKU, None, 0)
