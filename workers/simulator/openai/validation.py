"""The rules of a chat completion that a client meets: fields, roles, tool calls and their answers, schemas."""

import json
import re
from typing import Any

from workers.simulator.openai.models import CHAT_MODELS, ChatModel
from workers.simulator.openai.refusals import ChatRefused

_FIELDS = frozenset(
    {"model", "messages", "max_completion_tokens", "max_tokens", "tools", "tool_choice", "response_format"}
    | {"reasoning_effort", "parallel_tool_calls", "temperature", "top_p", "seed", "stop", "n", "user", "metadata"}
    | {"prompt_cache_key", "prompt_cache_options", "verbosity", "store", "service_tier", "safety_identifier"}
)
_SAMPLING = ("temperature", "top_p")
_ROLES = frozenset({"system", "developer", "user", "assistant", "tool"})
_NAME = re.compile(r"^[a-zA-Z0-9_-]{1,64}$")
MAX_TOOLS = 128


def check_chat(body: dict[str, Any]) -> ChatModel:
    """Raises ChatRefused."""
    for name in body.keys() - _FIELDS:
        raise ChatRefused(f"Unrecognized request argument supplied: {name}", None, None)
    model = CHAT_MODELS.get(str(body.get("model")))
    if model is None:
        sentence = f"The model `{body.get('model')}` does not exist or you do not have access to it."
        raise ChatRefused(sentence, None, "model_not_found", 404)
    _check_reasoning(body, model)
    _check_length(body, model)
    _check_tools(body.get("tools"))
    _check_format(body.get("response_format"))
    messages = body.get("messages")
    if not isinstance(messages, list) or not messages:
        raise ChatRefused("Invalid 'messages': empty array. Expected an array with minimum length 1.", "messages")
    for n, message in enumerate(messages):
        _check_message(f"messages[{n}]", message)
    _check_pairing(messages)
    return model


def _check_reasoning(body: dict[str, Any], model: ChatModel) -> None:
    effort = body.get("reasoning_effort")
    if effort is not None and not model.efforts:
        raise ChatRefused("Unrecognized request argument supplied: reasoning_effort", None, None)
    if effort is not None and effort not in model.efforts:
        raise ChatRefused(
            f"Unsupported value: 'reasoning_effort' does not support '{effort}' with this model.",
            "reasoning_effort",
            "unsupported_value",
        )
    if model.efforts and any(body.get(name) not in (None, 1) for name in _SAMPLING):
        raise ChatRefused("Unsupported value: only the default (1) value is supported.", "temperature")


def _check_length(body: dict[str, Any], model: ChatModel) -> None:
    if model.efforts and "max_tokens" in body:
        raise ChatRefused(
            "Unsupported parameter: 'max_tokens' is not supported with this model. "
            "Use 'max_completion_tokens' instead.",
            "max_tokens",
            "unsupported_parameter",
        )
    wanted = body.get("max_completion_tokens", body.get("max_tokens", 1))
    if not isinstance(wanted, int) or not 1 <= wanted <= model.max_output:
        raise ChatRefused(f"max_tokens is too large: {wanted}.", "max_completion_tokens", "invalid_value")


def _check_tools(tools: Any) -> None:
    if tools is None:
        return
    if not isinstance(tools, list) or not 1 <= len(tools) <= MAX_TOOLS:
        raise ChatRefused("Invalid 'tools': expected an array of 1 to 128 items.", "tools")
    for n, tool in enumerate(tools):
        function = tool.get("function") if isinstance(tool, dict) and tool.get("type") == "function" else None
        if not isinstance(function, dict) or not _NAME.match(str(function.get("name"))):
            raise ChatRefused(f"Missing or invalid 'tools[{n}].function.name'.", f"tools[{n}].function.name")
        parameters = function.get("parameters", {"type": "object", "properties": {}})
        if not isinstance(parameters, dict) or parameters.get("type") != "object":
            raise ChatRefused(
                f"Invalid schema for function '{function['name']}': schema must be of 'type: \"object\"'.",
                f"tools[{n}].function.parameters",
                "invalid_function_parameters",
            )
        if function.get("strict"):
            _check_strict(parameters, function["name"])


def _check_format(form: Any) -> None:
    if form is None or form == {"type": "text"} or form == {"type": "json_object"}:
        return
    named = form.get("json_schema") if isinstance(form, dict) and form.get("type") == "json_schema" else None
    if not isinstance(named, dict) or not _NAME.match(str(named.get("name"))):
        raise ChatRefused("Missing required parameter: 'response_format.json_schema.name'.", "response_format")
    if named.get("strict"):
        _check_strict(named.get("schema"), named["name"])


def _check_strict(schema: Any, name: str) -> None:
    if not isinstance(schema, dict):
        return
    members = schema.get("properties")
    if isinstance(members, dict):
        if schema.get("additionalProperties") is not False:
            raise ChatRefused(
                f"Invalid schema for '{name}': 'additionalProperties' is required to be supplied and to be false.",
                "response_format",
            )
        if set(schema.get("required") or ()) != set(members):
            raise ChatRefused(
                f"Invalid schema for '{name}': 'required' must include every key in properties.", "response_format"
            )
        for member in members.values():
            _check_strict(member, name)
    _check_strict(schema.get("items"), name)
    for choice in schema.get("anyOf") or ():
        _check_strict(choice, name)


def _check_message(where: str, message: Any) -> None:
    if not isinstance(message, dict) or message.get("role") not in _ROLES:
        raise ChatRefused(f"Invalid value for '{where}.role'.", f"{where}.role", "invalid_value")
    content, calls = message.get("content"), message.get("tool_calls")
    if content is None and not (message["role"] == "assistant" and calls):
        raise ChatRefused(f"Invalid value for '{where}.content': expected a string, got null.", f"{where}.content")
    if isinstance(content, list):
        _check_parts(where, content)
    elif content is not None and not isinstance(content, str):
        raise ChatRefused(f"Invalid type for '{where}.content'.", f"{where}.content", "invalid_type")
    for n, call in enumerate(calls or ()):
        function = call.get("function") if isinstance(call, dict) else None
        if not isinstance(function, dict) or not isinstance(function.get("arguments"), str) or not call.get("id"):
            raise ChatRefused(f"Invalid '{where}.tool_calls[{n}]'.", f"{where}.tool_calls[{n}]", "invalid_type")
        if len(call["id"]) > 64:
            sentence = f"Invalid '{where}.tool_calls[{n}].id': string too long."
            raise ChatRefused(sentence, where, "string_above_max_length")


def _check_parts(where: str, parts: list[Any]) -> None:
    if not parts:
        raise ChatRefused(f"Invalid '{where}.content': empty array.", f"{where}.content", "empty_array")
    for n, part in enumerate(parts):
        if not isinstance(part, dict) or part.get("type") != "text" or not isinstance(part.get("text"), str):
            raise ChatRefused(f"Invalid value for '{where}.content[{n}]'.", f"{where}.content[{n}]", "invalid_value")


def _check_pairing(messages: list[dict[str, Any]]) -> None:
    """Every call is answered by the tool messages that follow at once; no other tool message stands anywhere."""
    open_calls: list[str] = []
    for n, message in enumerate(messages):
        if message["role"] == "tool":
            if message.get("tool_call_id") not in open_calls:
                raise ChatRefused(
                    f"Invalid parameter: messages with role 'tool' must be a response to a preceeding message with "
                    f"'tool_calls'. messages[{n}]",
                    f"messages[{n}].role",
                )
            open_calls.remove(message["tool_call_id"])
            continue
        _refuse_unanswered(n, open_calls)
        open_calls = [call["id"] for call in message.get("tool_calls") or ()]
    _refuse_unanswered(len(messages), open_calls)


def _refuse_unanswered(n: int, calls: list[str]) -> None:
    if calls:
        raise ChatRefused(
            "An assistant message with 'tool_calls' must be followed by tool messages responding to each "
            f"'tool_call_id'. The following tool_call_ids did not have response messages: {', '.join(calls)}",
            f"messages.[{n}].role",
        )


def arguments_of(call: dict[str, Any]) -> dict[str, Any]:
    """As the model reads them: what is no object is none."""
    try:
        given = json.loads(call["function"]["arguments"])
    except ValueError:
        given = None
    return given if isinstance(given, dict) else {}
