"""A message as the server-sent events of the streaming API."""

from collections.abc import Iterator
from typing import Any

from workers.simulator.answers import compact, pieces


def frame(event: str, payload: dict[str, Any]) -> bytes:
    return f"event: {event}\ndata: {compact({'type': event, **payload})}\n\n".encode()


def events(message: dict[str, Any]) -> Iterator[bytes]:
    """All frames of one message, in order."""
    usage = message["usage"]
    opening = {**message, "content": [], "stop_reason": None, "usage": {**usage, "output_tokens": 1}}
    yield frame("message_start", {"message": opening})
    yield frame("ping", {})
    for index, block in enumerate(message["content"]):
        yield from _block(index, block)
    ending = {name: message.get(name) for name in ("stop_reason", "stop_sequence")}
    if "stop_details" in message:
        ending["stop_details"] = message["stop_details"]
    cumulative = {name: value for name, value in usage.items() if name.endswith("_tokens")}
    yield frame("message_delta", {"delta": ending, "usage": cumulative})
    yield frame("message_stop", {})


def _block(index: int, block: dict[str, Any]) -> Iterator[bytes]:
    opening, deltas = _parts(block)
    yield frame("content_block_start", {"index": index, "content_block": opening})
    for delta in deltas:
        yield frame("content_block_delta", {"index": index, "delta": delta})
    yield frame("content_block_stop", {"index": index})


def _parts(block: dict[str, Any]) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    match block.get("type"):
        case "text":
            return {"type": "text", "text": ""}, [{"type": "text_delta", "text": p} for p in pieces(block["text"])]
        case "tool_use":
            # The first piece of a tool's input is usually empty.
            chunks = ["", *pieces(compact(block["input"]))]
            return {**block, "input": {}}, [{"type": "input_json_delta", "partial_json": p} for p in chunks]
        case "thinking":
            thoughts = [{"type": "thinking_delta", "thinking": p} for p in pieces(block["thinking"])]
            signed = {"type": "signature_delta", "signature": block.get("signature", "")}
            return {"type": "thinking", "thinking": "", "signature": ""}, [*thoughts, signed]
        case _:
            return block, []
