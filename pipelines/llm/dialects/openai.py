"""Chat completions and embeddings: requests as their JSON, answers from their JSON. Equal requests give equal bytes.

Answers are kept in the blocks that saved runs are made of (`text`, `tool_use`); a call's `arguments` stay beside what
was read of them, so that they go back as they came.
"""

import json
import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from pipelines.llm.dialects.counts import tokens
from pipelines.llm.dialects.foreign import readable_by
from pipelines.llm.dialects.tasks import PLAIN_TASKS
from pipelines.text import deeper_than, storable, storable_deep
from schemas.llm import (
    Block,
    Message,
    Model,
    ModelAnswer,
    ModelRequest,
    Raw,
    Stop,
    Text,
    ToolCall,
    ToolResult,
    ToolSpec,
    ToolUse,
    Usage,
)

ERROR = "ERROR: "
"""In front of a tool's refusal: this interface has no mark for one."""

MAX_ARGUMENTS_DEPTH = 32

_STOPS = {"tool_calls": Stop.TOOLS, "length": Stop.CUT, "content_filter": Stop.REFUSED}
_MAY_NOT_THINK = ("gpt-5.", "gpt-6")
"""Families whose reasoning can be switched off."""


def to_wire(request: ModelRequest) -> dict[str, Any]:
    """The body of `POST /v1/chat/completions`. Cache marks do not exist here: long beginnings are cached unasked."""
    wire: dict[str, Any] = {"model": request.model.name, "max_completion_tokens": request.max_tokens}
    if (effort := _effort(request)) is not None:
        wire["reasoning_effort"] = effort
    if request.output_schema is not None:
        wire["response_format"] = _format(request.output_schema)
    if request.tools:
        wire["tools"] = [_tool(tool) for tool in request.tools]
    wire["messages"] = list(_messages(request))
    return wire


def from_wire(body: dict[str, Any], model: Model, request_id: str | None, latency_ms: int) -> ModelAnswer:
    """Raises ValueError when the body is no chat completion."""
    choices = body.get("choices")
    if body.get("object") != "chat.completion" or not isinstance(choices, list) or not choices:
        raise ValueError("the answer is no chat completion")
    message, reason = choices[0]["message"], choices[0].get("finish_reason")
    text = storable(message.get("content") or "")
    blocks: list[dict[str, Any]] = [{"type": "text", "text": text}] if text else []
    blocks += [_call_block(call) for call in message.get("tool_calls") or ()]
    refused = bool(message.get("refusal"))
    return ModelAnswer(
        content=tuple(blocks),
        text=text,
        calls=tuple(ToolCall(b["id"], b["name"], b["input"]) for b in blocks if b["type"] == "tool_use"),
        stop=Stop.REFUSED if refused else _STOPS.get(str(reason), Stop.END),
        usage=_usage(body.get("usage") or {}),
        model=model,
        request_id=request_id,
        latency_ms=latency_ms,
    )


def embeddings_to_wire(model: Model, texts: Sequence[str], dims: int) -> dict[str, Any]:
    """The body of `POST /v1/embeddings`. An empty text is refused there, so it goes as a space would be read."""
    words = [storable(text) or "." for text in texts]
    return {"model": model.name, "input": words, "dimensions": dims, "encoding_format": "float"}


def embeddings_from_wire(body: dict[str, Any], count: int) -> tuple[list[tuple[float, ...]], Usage]:
    """`count` unit vectors in the order of their texts. Raises ValueError when they are not there."""
    rows = sorted(body.get("data") or (), key=lambda row: int(row["index"]))
    if len(rows) != count:
        raise ValueError(f"{count} vectors were asked for, {len(rows)} came")
    usage = Usage(input=tokens((body.get("usage") or {}).get("prompt_tokens")))
    return [_unit(row["embedding"]) for row in rows], usage


def _unit(numbers: Sequence[float]) -> tuple[float, ...]:
    length = math.sqrt(sum(number * number for number in numbers)) or 1.0
    return tuple(number / length for number in numbers)


def _effort(request: ModelRequest) -> str | None:
    """Short work under a time limit does not think, as with every provider; said only to models that take it."""
    may_not = request.model.name.startswith(_MAY_NOT_THINK)
    return "none" if request.task in PLAIN_TASKS and may_not else None


def _format(schema: dict[str, Any]) -> dict[str, Any]:
    named = {"name": "answer", "schema": schema, "strict": _may_be_strict(schema)}
    return {"type": "json_schema", "json_schema": named}


def _may_be_strict(schema: Any) -> bool:
    """Strict schemas close every object and require all of its members."""
    if isinstance(schema, list):
        return all(_may_be_strict(item) for item in schema)
    if not isinstance(schema, dict):
        return True
    members = schema.get("properties")
    if isinstance(members, dict):
        closed = schema.get("additionalProperties") is False and set(schema.get("required") or ()) == set(members)
        return closed and all(_may_be_strict(member) for member in members.values())
    if schema.get("type") == "object":
        return False
    return all(_may_be_strict(value) for value in schema.values())


def _tool(tool: ToolSpec) -> dict[str, Any]:
    function = {"name": tool.name, "description": tool.description, "parameters": tool.schema}
    return {"type": "function", "function": function}


def _messages(request: ModelRequest) -> Iterator[dict[str, Any]]:
    if request.system:
        yield {"role": "system", "content": [_part(block.text) for block in request.system]}
    for message in readable_by(request.messages, request.model):
        yield from _spoken(message) if message.role == "assistant" else _heard(message)


def _spoken(message: Message) -> Iterator[dict[str, Any]]:
    texts, calls = [], []
    for block in message.blocks:
        if isinstance(block, ToolUse):
            calls.append(_call(block.id, block.name, json.dumps(storable_deep(block.input), ensure_ascii=False)))
        elif isinstance(block, Raw) and block.block.get("type") == "tool_use":
            calls.append(_raw_call(block.block))
        elif text := _text_of(block):
            texts.append(text)
    wire: dict[str, Any] = {"role": "assistant", "content": "\n".join(texts) if texts else None}
    if calls:
        wire["tool_calls"] = calls
    if texts or calls:
        yield wire


def _heard(message: Message) -> Iterator[dict[str, Any]]:
    """Each result of a tool is a message of its own, before anything else that the user's turn says."""
    for block in message.blocks:
        if isinstance(block, ToolResult):
            text = storable(block.text)
            yield {
                "role": "tool",
                "tool_call_id": block.tool_use_id,
                "content": f"{ERROR}{text}" if block.is_error else text,
            }
    if parts := [_part(text) for text in _texts(message.blocks)]:
        yield {"role": "user", "content": parts}


def _texts(blocks: Iterable[Block]) -> Iterator[str]:
    return (text for block in blocks if (text := _text_of(block)))


def _text_of(block: Block) -> str:
    if isinstance(block, Text):
        return block.text
    if isinstance(block, Raw) and block.block.get("type") == "text":
        return str(block.block.get("text", ""))
    return ""


def _part(text: str) -> dict[str, Any]:
    return {"type": "text", "text": storable(text)}


def _call(id: str, name: str, arguments: str) -> dict[str, Any]:
    return {"id": id, "type": "function", "function": {"name": name, "arguments": arguments}}


def _raw_call(block: dict[str, Any]) -> dict[str, Any]:
    arguments = block.get("arguments")
    if not isinstance(arguments, str):
        arguments = json.dumps(storable_deep(block.get("input") or {}), ensure_ascii=False)
    return _call(str(block["id"]), str(block["name"]), arguments)


def _call_block(call: dict[str, Any]) -> dict[str, Any]:
    """Arguments that are no object, or nested without end, count as none at all: the tool will say what it lacks."""
    arguments = storable(str(call["function"].get("arguments") or "{}"))
    try:
        given = json.loads(arguments)
    except (ValueError, RecursionError):
        given = None
    usable = isinstance(given, dict) and not deeper_than(given, MAX_ARGUMENTS_DEPTH)
    return {
        "type": "tool_use",
        "id": storable(str(call["id"])),
        "name": storable(str(call["function"]["name"])),
        "input": storable_deep(given) if usable else {},
        "arguments": arguments,
    }


def _usage(usage: dict[str, Any]) -> Usage:
    """`prompt_tokens` is the whole prompt, what the cache gave and took included."""
    details = usage.get("prompt_tokens_details") or {}
    read, written = tokens(details.get("cached_tokens")), tokens(details.get("cache_write_tokens"))
    return Usage(
        input=max(tokens(usage.get("prompt_tokens")) - read - written, 0),
        cache_read=read,
        cache_write_5m=written,
        output=tokens(usage.get("completion_tokens")),
    )
