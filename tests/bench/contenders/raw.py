"""The loop one writes by hand on the SDK: `parsed` as its guide shows it, `bodies` on the raw JSON as ours reads it."""

import json
from typing import Any

from anthropic import AsyncAnthropic

from tests.bench.contenders.work import HISTORY, MAX_TOKENS, MODEL, QUESTION, SYSTEM, TOOLS, Done, RunOnce

CACHED = {"type": "ephemeral", "ttl": "1h"}


def fresh() -> dict[str, Any]:
    """The request that ours makes, but for the mark on its last block."""
    messages: list[dict[str, Any]] = [{"role": role, "content": [_text(text)]} for role, text in HISTORY]
    messages[-1]["content"][0]["cache_control"] = CACHED
    return {
        "model": MODEL,
        "max_tokens": MAX_TOKENS,
        "thinking": {"type": "disabled"},
        "system": [{"type": "text", "text": SYSTEM, "cache_control": CACHED}],
        "tools": TOOLS,
        "messages": [*messages, {"role": "user", "content": [_text(QUESTION)]}],
    }


def parsed(client: AsyncAnthropic) -> RunOnce:
    async def run(done: Done) -> None:
        wire = fresh()
        while True:
            answer = await client.messages.create(**wire)
            calls = [block for block in answer.content if block.type == "tool_use"]
            if not calls:
                return
            results = [_result(call.id, getattr(done, call.name)(**call.input)) for call in calls]
            wire["messages"] += [{"role": "assistant", "content": answer.content}, {"role": "user", "content": results}]

    return run


def bodies(client: AsyncAnthropic) -> RunOnce:
    async def run(done: Done) -> None:
        wire = fresh()
        while True:
            response = await client.messages.with_raw_response.create(**wire)
            content = json.loads(await response.read())["content"]
            calls = [block for block in content if block["type"] == "tool_use"]
            if not calls:
                return
            results = [_result(call["id"], getattr(done, call["name"])(**call["input"])) for call in calls]
            wire["messages"] += [{"role": "assistant", "content": content}, {"role": "user", "content": results}]

    return run


def _text(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def _result(call: str, text: str) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": call, "content": text}
