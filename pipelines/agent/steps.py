"""How a finished model call is kept: what was said to the model since its last answer, and its answer.

The text is pure ASCII, so any string survives any store; the order of keys is the provider's own.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pipelines.llm.dialects.anthropic import read_content
from schemas.llm import Block, Model, ModelAnswer, Stop, Text, ToolResult, Usage


@dataclass(frozen=True, slots=True)
class Exchange:
    """`sent` are the user blocks that preceded the answer: context at first, then tool results, nudges, feedback."""

    sent: tuple[Block, ...]
    answer: ModelAnswer


def encode(sent: Sequence[Block], answer: ModelAnswer, settled: Mapping[str, Any] | None = None) -> str:
    """`settled`: what was decided for the whole run before its first call, kept with that call."""
    kept: dict[str, Any] = {
        "sent": [_sent(block) for block in sent],
        "answer": list(answer.content),
        "stop": answer.stop.value,
        "provider": answer.model.provider,
        "model": answer.model.name,
    }
    if settled:
        kept["settled"] = settled
    return json.dumps(kept, separators=(",", ":"), ensure_ascii=True)


def settled(content: str) -> dict[str, Any]:
    """What was decided for the run whose first step this is; empty when nothing was."""
    found: dict[str, Any] = json.loads(content).get("settled", {})
    return found


def decode(content: str) -> Exchange:
    kept = json.loads(content)
    blocks = tuple(kept["answer"])
    text, calls = read_content(blocks)
    model = Model(kept["provider"], kept["model"])
    answer = ModelAnswer(blocks, text, calls, Stop(kept["stop"]), Usage(), model)
    return Exchange(tuple(_block(block) for block in kept["sent"]), answer)


def _sent(block: Block) -> dict[str, Any]:
    if isinstance(block, ToolResult):
        return {"result": block.tool_use_id, "text": block.text, "error": block.is_error}
    if isinstance(block, Text):
        return {"text": block.text}
    raise TypeError(f"a user turn holds no {type(block).__name__}")


def _block(kept: dict[str, Any]) -> Block:
    if "result" in kept:
        return ToolResult(kept["result"], kept["text"], kept["error"])
    return Text(kept["text"])
