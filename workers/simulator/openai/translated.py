"""A chat completion as the Messages request it would be, so that scripts, faults and the creator know one form."""

from typing import Any

from workers.simulator.openai.validation import arguments_of

ERROR = "ERROR"


def as_messages(body: dict[str, Any], max_tokens: int) -> dict[str, Any]:
    translated: dict[str, Any] = {"model": body["model"], "max_tokens": max_tokens, "messages": []}
    if system := [part for m in body["messages"] if m["role"] in ("system", "developer") for part in _parts(m)]:
        translated["system"] = system
    if body.get("tools"):
        translated["tools"] = [_tool(tool["function"]) for tool in body["tools"]]
    form = body.get("response_format") or {}
    if form.get("type") == "json_schema":
        translated["output_config"] = {"format": {"type": "json_schema", "schema": form["json_schema"].get("schema")}}
    if body.get("tool_choice") == "none":
        translated["tool_choice"] = {"type": "none"}
    for message in body["messages"]:
        if message["role"] not in ("system", "developer"):
            _add(translated["messages"], *_turn(message))
    return translated


def _tool(function: dict[str, Any]) -> dict[str, Any]:
    schema = function.get("parameters") or {"type": "object"}
    return {"name": function["name"], "description": function.get("description", ""), "input_schema": schema}


def _turn(message: dict[str, Any]) -> tuple[str, list[dict[str, Any]]]:
    if message["role"] == "tool":
        text = "".join(part["text"] for part in _parts(message))
        result = {"type": "tool_result", "tool_use_id": message["tool_call_id"], "content": text}
        return "user", [{**result, "is_error": True} if text.startswith(ERROR) else result]
    if message["role"] == "user":
        return "user", _parts(message)
    calls = [
        {"type": "tool_use", "id": call["id"], "name": call["function"]["name"], "input": arguments_of(call)}
        for call in message.get("tool_calls") or ()
    ]
    return "assistant", [*_parts(message), *calls]


def _parts(message: dict[str, Any]) -> list[dict[str, Any]]:
    content = message.get("content")
    if isinstance(content, str):
        return [{"type": "text", "text": content}] if content else []
    return list(content or ())


def _add(messages: list[dict[str, Any]], role: str, blocks: list[dict[str, Any]]) -> None:
    if messages and messages[-1]["role"] == role:
        messages[-1]["content"].extend(blocks)
    else:
        messages.append({"role": role, "content": blocks})
