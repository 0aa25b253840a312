"""From a turn to the message on the wire: content, stop reason, and what limits or faults make of it."""

import json
import uuid
from dataclasses import dataclass, replace
from typing import Any

from workers.simulator.cache import Charge
from workers.simulator.faults import FaultKind
from workers.simulator.schema_samples import violate
from workers.simulator.scripts import Turn
from workers.simulator.tokens import block_tokens, output_tokens

REFUSAL = {"type": "refusal", "category": None, "explanation": "The request was declined."}


@dataclass(frozen=True, slots=True)
class Answer:
    """What the model said, before the envelope."""

    content: tuple[dict[str, Any], ...]
    stop: str
    stop_sequence: str | None = None
    stop_details: dict[str, Any] | None = None


def new_id(prefix: str) -> str:
    return f"{prefix}_01{uuid.uuid4().hex[:22]}"


def compose(turn: Turn) -> Answer:
    """Content blocks with fresh tool-call ids. An empty text makes no block."""
    if turn.raw is not None:
        calls = any(block.get("type") == "tool_use" for block in turn.raw)
        return Answer(turn.raw, turn.stop or ("tool_use" if calls else "end_turn"))
    content: list[dict[str, Any]] = [{"type": "text", "text": turn.text}] if turn.text else []
    content += [
        {"type": "tool_use", "id": new_id("toolu"), "name": call["name"], "input": call["input"]} for call in turn.calls
    ]
    return Answer(tuple(content), turn.stop or ("tool_use" if turn.calls else "end_turn"))


def spoil(answer: Answer, kind: FaultKind, body: dict[str, Any]) -> Answer:
    """The same answer as a failing model gives it."""
    match kind:
        case FaultKind.EMPTY:
            return Answer((), "end_turn")
        case FaultKind.REFUSAL:
            return Answer((), "refusal", stop_details=REFUSAL)
        case FaultKind.MAX_TOKENS:
            half = max(1, output_tokens(list(answer.content)) // 2)
            return _cut(answer, min(half, body["max_tokens"]))
        case FaultKind.WRONG_ARGUMENTS:
            return _with_wrong_arguments(answer, body.get("tools") or [])
        case FaultKind.BAD_OUTPUT:
            return replace(answer, content=tuple(_broken_json(block) for block in answer.content))
        case _:
            return answer


def within_limits(answer: Answer, body: dict[str, Any]) -> Answer:
    """Stops at the request's first stop sequence, then at `max_tokens`."""
    answer = _until_stop_sequence(answer, body.get("stop_sequences") or [])
    if output_tokens(list(answer.content)) > body["max_tokens"]:
        return _cut(answer, body["max_tokens"])
    return answer


def message(answer: Answer, model: str, usage: dict[str, Any]) -> dict[str, Any]:
    """The response body."""
    envelope: dict[str, Any] = {
        "id": new_id("msg"),
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": list(answer.content),
        "stop_reason": answer.stop,
        "stop_sequence": answer.stop_sequence,
        "usage": usage,
    }
    if answer.stop_details is not None:
        envelope["stop_details"] = answer.stop_details
    return envelope


def usage_of(charge: Charge, written_tokens: int) -> dict[str, Any]:
    """`usage` as billed; the prompt's total is input + cache creation + cache read."""
    return {
        "input_tokens": charge.full,
        "cache_creation_input_tokens": charge.write_5m + charge.write_1h,
        "cache_read_input_tokens": charge.read,
        "cache_creation": {
            "ephemeral_5m_input_tokens": charge.write_5m,
            "ephemeral_1h_input_tokens": charge.write_1h,
        },
        "output_tokens": written_tokens,
        "service_tier": "standard",
    }


def _cut(answer: Answer, max_tokens: int) -> Answer:
    """The first `max_tokens`: whole blocks, then a piece of a text; a cut tool call is lost."""
    kept: list[dict[str, Any]] = []
    left = max_tokens
    for block in answer.content:
        size = block_tokens(block)
        if size > left:
            piece = _head(block["text"], left) if block.get("type") == "text" else ""
            kept += [{"type": "text", "text": piece}] if piece else []
            break
        kept.append(block)
        left -= size
    return Answer(tuple(kept), "max_tokens")


def _head(text: str, tokens: int) -> str:
    # '{"text":""}' already costs three tokens.
    return text.encode()[: max(0, tokens - 3) * 4].decode(errors="ignore").rstrip()


def _until_stop_sequence(answer: Answer, sequences: list[str]) -> Answer:
    for n, block in enumerate(answer.content):
        text = block.get("text") or ""
        found = min(((at, s) for s in sequences if (at := text.find(s)) >= 0), default=None)
        if found is not None:
            at, sequence = found
            head = [{"type": "text", "text": text[:at]}] if at else []
            return Answer((*answer.content[:n], *head), "stop_sequence", sequence)
    return answer


def _with_wrong_arguments(answer: Answer, tools: list[dict[str, Any]]) -> Answer:
    schemas = {tool["name"]: tool.get("input_schema") or {} for tool in tools}
    calls = [block for block in answer.content if block.get("type") == "tool_use"]
    if not calls and schemas:
        calls = [{"type": "tool_use", "id": new_id("toolu"), "name": next(iter(schemas)), "input": {}}]
    wrong = tuple({**call, "input": violate(schemas.get(call["name"], {}), call["input"])} for call in calls)
    return Answer(wrong, "tool_use") if wrong else answer


def _broken_json(block: dict[str, Any]) -> dict[str, Any]:
    if block.get("type") != "text":
        return block
    return {**block, "text": block["text"][: len(block["text"]) // 2] or "{"}


def pieces(text: str, size: int = 24) -> list[str]:
    """A text as the stream sends it."""
    return [text[i : i + size] for i in range(0, len(text), size)]


def compact(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)
