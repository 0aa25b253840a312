"""Tools and the choice among them."""

import re
from typing import Any

from workers.simulator.models import Model
from workers.simulator.refusals import Refused
from workers.simulator.validation.schema import check_strict_schema
from workers.simulator.validation.shape import check_marker, check_type

MAX_STRICT_TOOLS = 20
_NAME = re.compile(r"^[a-zA-Z0-9_-]{1,128}$")
_FIELDS = frozenset(
    {"type", "name", "description", "input_schema", "strict", "cache_control", "defer_loading"}
    | {"allowed_callers", "eager_input_streaming", "input_examples"}
)
_CHOICES = ("auto", "any", "tool", "none")


def check_tools(body: dict[str, Any], model: Model) -> None:
    tools = body.get("tools") or []
    for n, tool in enumerate(tools):
        check_type(f"tools.{n}", tool, dict)
        _check_tool(f"tools.{n}", tool)
    names = [tool["name"] for tool in tools]
    if len(set(names)) != len(names):
        raise Refused("tools: Tool names must be unique.")
    if sum(1 for tool in tools if tool.get("strict")) > MAX_STRICT_TOOLS:
        raise Refused(f"tools: at most {MAX_STRICT_TOOLS} tools may be strict")
    if tools and all(tool.get("defer_loading") for tool in tools):
        raise Refused("tools: At least one tool must not set defer_loading.")
    if "tool_choice" in body:
        _check_choice(body["tool_choice"], names, model)


def _check_tool(where: str, tool: dict[str, Any]) -> None:
    if "name" not in tool:
        raise Refused(f"{where}.custom.name: Field required")
    check_type(f"{where}.custom.name", tool["name"], str)
    if not _NAME.match(tool["name"]):
        raise Refused(f"{where}.custom.name: String should match pattern '{_NAME.pattern}'")
    if tool.get("cache_control") is not None:
        check_marker(f"{where}.cache_control", tool["cache_control"])
        if tool.get("defer_loading"):
            raise Refused(f"{where}: cache_control cannot be set on a tool with defer_loading")
    if tool.get("type", "custom") == "custom":  # the provider's own tools have no schema here
        _check_custom(f"{where}.custom", tool)


def _check_custom(where: str, tool: dict[str, Any]) -> None:
    for name in tool.keys() - _FIELDS:
        raise Refused(f"{where}.{name}: Extra inputs are not permitted")
    if "input_schema" not in tool:
        raise Refused(f"{where}.input_schema: Field required")
    schema = tool["input_schema"]
    check_type(f"{where}.input_schema", schema, dict)
    if "type" not in schema:
        raise Refused(f"{where}.input_schema.type: Field required")
    if schema["type"] != "object":
        raise Refused(f"{where}.input_schema.type: Input should be 'object'")
    if not isinstance(schema.get("properties") or {}, dict) or not isinstance(schema.get("required") or [], list):
        raise Refused(f"{where}.input_schema: JSON schema is invalid. It must match JSON Schema draft 2020-12.")
    if "description" in tool:
        check_type(f"{where}.description", tool["description"], str)
    if tool.get("strict"):
        check_strict_schema(where, schema)


def _check_choice(choice: dict[str, Any], names: list[str], model: Model) -> None:
    kind = choice.get("type")
    if kind not in _CHOICES:
        raise Refused(f"tool_choice: Input tag '{kind}' found using 'type' does not match any of the expected tags")
    allowed = {"type", "name"} if kind == "tool" else {"type"}
    for name in choice.keys() - allowed - (set() if kind == "none" else {"disable_parallel_tool_use"}):
        raise Refused(f"tool_choice.{kind}.{name}: Extra inputs are not permitted")
    if not names and kind != "none":
        raise Refused("tool_choice: tool_choice may only be specified while providing tools")
    if kind in ("any", "tool") and not model.forced_tools:
        raise Refused('tool_choice: type "tool" and "any" are not supported for this model.')
    if kind == "tool" and choice.get("name") not in names:
        raise Refused(f"Tool '{choice.get('name')}' not found in provided tools")
