"""Reading the control API's JSON: a field of the right type, its default, or a sentence on what is wrong."""

from typing import Any, TypeVar

T = TypeVar("T")


def optional(fields: dict[str, Any], name: str, kind: type[T], default: Any) -> Any:
    """`fields[name]` as `kind`; `default` when absent or null. An int serves as a float."""
    value = fields.get(name)
    if value is None:
        return default
    if kind is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        raise ValueError(f"{name}: expected {kind.__name__}, got {type(value).__name__}")
    return value


def text_or_none(fields: dict[str, Any], name: str) -> str | None:
    value: str | None = optional(fields, name, str, None)
    return value


def refuse_unknown(fields: dict[str, Any], known: frozenset[str]) -> None:
    """A misspelt field in a test would otherwise silently test nothing."""
    if unknown := sorted(set(fields) - known):
        raise ValueError(f"unknown fields: {', '.join(unknown)}")
