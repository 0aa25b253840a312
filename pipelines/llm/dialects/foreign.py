"""A conversation that several models have written, in the words of the one that is asked next.

A provider's own blocks go back to it as they came. What another provider wrote is said again in our neutral form: its
texts and its tool calls, under ids of ours; its thinking is signed for itself alone, and stays out.
"""

from collections.abc import Sequence
from dataclasses import replace

from pipelines.llm.history import joined
from schemas.llm import Block, Message, Model, Raw, Text, ToolResult, ToolUse

_THOUGHTS = frozenset({"thinking", "redacted_thinking"})


def readable_by(messages: Sequence[Message], model: Model) -> tuple[Message, ...]:
    """The same messages when `model` wrote all that a model wrote in them. The ids are made by counting, so the same
    conversation is the same bytes."""
    if not any(_written_elsewhere(block, model) for message in messages for block in message.blocks):
        return tuple(messages)
    ids: dict[str, str] = {}
    kept = []
    for message in messages:
        blocks = tuple(said for block in message.blocks if (said := _said(block, model, ids)) is not None)
        if blocks:
            kept.append(replace(message, blocks=blocks))
    return joined(kept, ())


def _written_elsewhere(block: Block, model: Model) -> bool:
    return isinstance(block, Raw) and block.by is not None and block.by != model


def _said(block: Block, model: Model, ids: dict[str, str]) -> Block | None:
    """None: nothing of it can be said to `model`."""
    if isinstance(block, ToolResult):
        return replace(block, tool_use_id=ids.get(block.tool_use_id, block.tool_use_id))
    if not isinstance(block, Raw) or block.by is None or block.by == model:
        return block
    if block.by.provider == model.provider:
        return None if block.block.get("type") in _THOUGHTS else block
    return _neutral(block, ids)


def _neutral(block: Raw, ids: dict[str, str]) -> Block | None:
    wire = block.block
    if wire.get("type") == "text":
        text = str(wire.get("text", ""))
        return Text(text, block.cache) if text.strip() else None
    if wire.get("type") == "tool_use":
        new = ids.setdefault(str(wire["id"]), f"moved_{len(ids) + 1}")
        given = wire.get("input")
        return ToolUse(new, str(wire["name"]), given if isinstance(given, dict) else {}, block.cache)
    return None
