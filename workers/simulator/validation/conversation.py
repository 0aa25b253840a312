"""`system` and `messages`: roles, block types and fields, empty texts, how a conversation begins and ends."""

import re
from collections.abc import Callable
from typing import Any

from workers.simulator.models import Model
from workers.simulator.refusals import Refused
from workers.simulator.validation.shape import check_marker, check_type

MAX_MESSAGES = 100_000
_ID = re.compile(r"^[a-zA-Z0-9_-]+$")
_FIELDS = {
    "text": {"type", "text", "cache_control", "citations"},
    "tool_use": {"type", "id", "name", "input", "cache_control", "caller", "toolset_name"},
    "tool_result": {"type", "tool_use_id", "content", "is_error", "cache_control"},
    "thinking": {"type", "thinking", "signature"},
    "redacted_thinking": {"type", "data"},
}
_OTHER_TYPES = frozenset(
    {
        "image",
        "document",
        "search_result",
        "server_tool_use",
        "web_search_tool_result",
        "web_fetch_tool_result",
    }
    | {"code_execution_tool_result", "tool_search_tool_result", "container_upload", "compaction"}
)
_TYPES = _OTHER_TYPES | _FIELDS.keys()
_ASSISTANT_ONLY = frozenset({"tool_use", "thinking", "redacted_thinking", "server_tool_use"})
_USER_ONLY = frozenset({"tool_result", "image", "document"})
_RESULT_TYPES = frozenset({"text", "image", "search_result", "document", "tool_reference"})


def check_conversation(body: dict[str, Any], model: Model) -> None:
    _check_system(body.get("system"))
    messages = body["messages"]
    if not messages:
        raise Refused("messages: at least one message is required")
    if len(messages) > MAX_MESSAGES:
        raise Refused(f"messages: List should have at most {MAX_MESSAGES} items")
    for n, message in enumerate(messages):
        _check_message(f"messages.{n}", message, model)
    if messages[0]["role"] != "user":
        raise Refused('messages: first message must use the "user" role')
    _check_ending(messages[-1], model)


def _check_system(system: Any) -> None:
    if system is None or isinstance(system, str):
        return
    for n, block in enumerate(system):
        where = f"system.{n}"
        check_type(where, block, dict)
        if block.get("type") != "text":
            raise Refused(f"{where}.type: Input should be 'text'")
        _check_text(where, block, "system")


def _check_message(where: str, message: Any, model: Model) -> None:
    check_type(where, message, dict)
    for name in ("role", "content"):
        if name not in message:
            raise Refused(f"{where}.{name}: Field required")
    for name in message.keys() - {"role", "content"}:
        raise Refused(f"{where}.{name}: Extra inputs are not permitted")
    _check_role(where, message["role"], model)
    content = message["content"]
    check_type(f"{where}.content", content, (str, list))
    if not content:
        raise Refused(
            f"{where}: all messages must have non-empty content except for the optional final assistant message"
        )
    if isinstance(content, str):
        _check_not_blank(content, "messages")
        return
    for n, block in enumerate(content):
        _check_block(f"{where}.content.{n}", where, message["role"], block)


def _check_role(where: str, role: Any, model: Model) -> None:
    if role == "system" and not model.system_messages:
        raise Refused(
            'messages: Unexpected role "system". The Messages API accepts a top-level `system` parameter, '
            'not "system" as an input message role.'
        )
    if role not in ("user", "assistant", "system"):
        raise Refused(f"{where}.role: Input should be 'user' or 'assistant'")


def _check_block(where: str, message: str, role: str, block: Any) -> None:
    check_type(where, block, dict)
    if "type" not in block:
        raise Refused(f"{where}.type: Field required")
    kind = block["type"]
    if kind not in _TYPES:
        raise Refused(f"{where}: Input tag '{kind}' found using 'type' does not match any of the expected tags")
    if kind in _ASSISTANT_ONLY and role != "assistant":
        raise Refused(f"{message}: `{kind}` blocks can only be in `assistant` messages")
    if kind in _USER_ONLY and role != "user":
        raise Refused(f"{message}: `{kind}` blocks can only be in `user` messages")
    for name in block.keys() - _FIELDS.get(kind, block.keys()):
        raise Refused(f"{where}.{kind}.{name}: Extra inputs are not permitted")
    _CHECKS.get(kind, _no_check)(f"{where}.{kind}", block)
    if block.get("cache_control") is not None:
        check_marker(f"{where}.{kind}.cache_control", block["cache_control"])


def _check_text(where: str, block: dict[str, Any], field: str = "messages") -> None:
    if "text" not in block:
        raise Refused(f"{where}.text: Field required")
    check_type(f"{where}.text", block["text"], str)
    marker = block.get("cache_control")
    if not block["text"] and marker is not None:
        raise Refused(f"{where}: cache_control cannot be set for empty text blocks")
    _check_not_blank(block["text"], field)
    if marker is not None:
        check_marker(f"{where}.cache_control", marker)


def _check_not_blank(text: str, field: str) -> None:
    if not text:
        raise Refused(f"{field}: text content blocks must be non-empty")
    if not text.strip():
        raise Refused(f"{field}: text content blocks must contain non-whitespace text")


def _check_tool_use(where: str, block: dict[str, Any]) -> None:
    for name in ("id", "name", "input"):
        if name not in block:
            raise Refused(f"{where}.{name}: Field required")
    _check_id(f"{where}.id", block["id"])
    check_type(f"{where}.name", block["name"], str)
    check_type(f"{where}.input", block["input"], dict)


def _check_tool_result(where: str, block: dict[str, Any]) -> None:
    if "tool_use_id" not in block:
        raise Refused(f"{where}.tool_use_id: Field required")
    _check_id(f"{where}.tool_use_id", block["tool_use_id"])
    content = block.get("content")
    if content is None or isinstance(content, str):
        return
    check_type(f"{where}.content", content, list)
    for n, part in enumerate(content):
        check_type(f"{where}.content.{n}", part, dict)
        if part.get("type") not in _RESULT_TYPES:
            raise Refused(f"{where}.content.{n}.type: Input should be one of {', '.join(sorted(_RESULT_TYPES))}")
        if part["type"] == "text":
            _check_text(f"{where}.content.{n}.text", part)


def _check_id(where: str, value: Any) -> None:
    check_type(where, value, str)
    if not _ID.match(value):
        raise Refused(f"{where}: String should match pattern '^[a-zA-Z0-9_-]+$'")


def _no_check(where: str, block: dict[str, Any]) -> None:
    """Blocks of the provider's own tools and media are taken as they are."""


_CHECKS: dict[str, Callable[[str, dict[str, Any]], None]] = {
    "text": _check_text,
    "tool_use": _check_tool_use,
    "tool_result": _check_tool_result,
}


def _check_ending(last: dict[str, Any], model: Model) -> None:
    if last["role"] != "assistant":
        return
    if not model.prefill:
        raise Refused(
            "This model does not support assistant message prefill. The conversation must end with a user message."
        )
    content = last["content"]
    text = content if isinstance(content, str) else content[-1].get("text") or ""
    if text != text.rstrip():
        raise Refused("messages: final assistant content cannot end with trailing whitespace")
