"""The Messages API: requests as its JSON, answers from its JSON. Equal requests give equal bytes."""

from collections.abc import Iterable
from typing import Any

from pipelines.llm.dialects.counts import tokens
from pipelines.llm.dialects.foreign import readable_by
from pipelines.llm.dialects.tasks import PLAIN_TASKS
from pipelines.text import storable, storable_deep
from schemas.llm import (
    Block,
    Message,
    Model,
    ModelAnswer,
    ModelRequest,
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

_STOPS = {
    "tool_use": Stop.TOOLS,
    "max_tokens": Stop.CUT,
    "model_context_window_exceeded": Stop.CUT,
    "refusal": Stop.REFUSED,
}
_THINKS_UNASKED = ("claude-haiku-5", "claude-sonnet-5", "claude-opus-5")
_REFUSES_DISABLED = ("claude-sonnet-5-5", "claude-opus-5-5")


def to_wire(request: ModelRequest) -> dict[str, Any]:
    """The body of `POST /v1/messages`. Temperature and its like do not exist there any more."""
    wire: dict[str, Any] = {"model": request.model.name, "max_tokens": request.max_tokens}
    if _thinking_off(request.model, request.task):
        wire["thinking"] = {"type": "disabled"}
    if request.output_schema is not None:
        wire["output_config"] = {"format": {"type": "json_schema", "schema": request.output_schema}}
    if request.tools:
        wire["tools"] = [_tool(tool) for tool in request.tools]
    if request.system:
        wire["system"] = [_block(block) for block in request.system]
    wire["messages"] = [_message(message) for message in readable_by(request.messages, request.model)]
    return wire


def from_wire(body: dict[str, Any], model: Model, request_id: str | None, latency_ms: int) -> ModelAnswer:
    """Raises ValueError when the body is not a message."""
    content = body.get("content")
    if body.get("type") != "message" or not isinstance(content, list):
        raise ValueError("the answer is not a message")
    blocks: tuple[dict[str, Any], ...] = tuple(storable_deep(block) for block in content if isinstance(block, dict))
    text, calls = read_content(blocks)
    return ModelAnswer(
        content=blocks,
        text=text,
        calls=calls,
        stop=_STOPS.get(str(body.get("stop_reason")), Stop.END),
        usage=_usage(body.get("usage") or {}),
        model=model,
        request_id=request_id,
        latency_ms=latency_ms,
    )


def read_content(blocks: Iterable[dict[str, Any]]) -> tuple[str, tuple[ToolCall, ...]]:
    """What the model said and asked for. Arguments that are no object count as none at all."""
    texts, calls = [], []
    for block in blocks:
        if block.get("type") == "text":
            texts.append(str(block.get("text", "")))
        elif block.get("type") == "tool_use":
            given = block.get("input")
            calls.append(ToolCall(str(block["id"]), str(block["name"]), given if isinstance(given, dict) else {}))
    return "\n".join(texts), tuple(calls)


def _thinking_off(model: Model, task: Task) -> bool:
    """Said only to models that think unless told otherwise and take being told."""
    return (
        task in PLAIN_TASKS and model.name.startswith(_THINKS_UNASKED) and not model.name.startswith(_REFUSES_DISABLED)
    )


def _tool(tool: ToolSpec) -> dict[str, Any]:
    return {"name": tool.name, "description": tool.description, "input_schema": tool.schema}


def _message(message: Message) -> dict[str, Any]:
    return {"role": message.role, "content": [_block(block) for block in message.blocks]}


def _block(block: Block) -> dict[str, Any]:
    wire = _bare(block)
    if block.cache is not None:
        wire["cache_control"] = {"type": "ephemeral", "ttl": Ttl(block.cache).value}
    return wire


def _bare(block: Block) -> dict[str, Any]:
    if isinstance(block, Text):
        return {"type": "text", "text": storable(block.text)}
    if isinstance(block, ToolUse):
        return {"type": "tool_use", "id": block.id, "name": block.name, "input": storable_deep(block.input)}
    if isinstance(block, ToolResult):
        wire = {"type": "tool_result", "tool_use_id": block.tool_use_id, "content": storable(block.text)}
        return {**wire, "is_error": True} if block.is_error else wire
    return dict(block.block)


def _usage(usage: dict[str, Any]) -> Usage:
    written = tokens(usage.get("cache_creation_input_tokens"))
    split = usage.get("cache_creation") or {}
    one_hour = tokens(split.get("ephemeral_1h_input_tokens"))
    return Usage(
        input=tokens(usage.get("input_tokens")),
        cache_read=tokens(usage.get("cache_read_input_tokens")),
        cache_write_5m=max(written - one_hour, 0),
        cache_write_1h=one_hour,
        output=tokens(usage.get("output_tokens")),
    )
