"""Top-level fields: which exist, which are required, of what type."""

from typing import Any

from workers.simulator.refusals import Refused

_SAMPLING = {"temperature": (int, float), "top_p": (int, float), "top_k": int}
_TYPES: dict[str, Any] = {
    "model": str,
    "messages": list,
    "max_tokens": int,
    "system": (str, list),
    "tools": list,
    "tool_choice": dict,
    "thinking": dict,
    "output_config": dict,
    "cache_control": dict,
    "stop_sequences": list,
    "metadata": dict,
    "service_tier": str,
    "speed": str,
    "inference_geo": str,
    "diagnostics": dict,
    "container": (str, dict),
    "context_management": dict,
    "stream": bool,
    **_SAMPLING,
}
_NAMES = {str: "string", list: "list", int: "integer", dict: "dictionary", bool: "boolean"}
_NULLABLE = frozenset({"container", "diagnostics", "inference_geo", "cache_control", "speed"})
_NOT_COUNTED = frozenset({"max_tokens", "stop_sequences", "metadata", "service_tier", "stream", *_SAMPLING})
_SERVICE_TIERS = ("auto", "standard_only")
_MAX_USER_ID = 256


def check_shape(body: dict[str, Any], *, counting: bool) -> None:
    for name in ("model", "messages") if counting else ("model", "messages", "max_tokens"):
        if name not in body:
            raise Refused(f"{name}: Field required")
    for name, value in body.items():
        if name not in _TYPES or (counting and name in _NOT_COUNTED):
            raise Refused(f"{name}: Extra inputs are not permitted")
        if not (value is None and name in _NULLABLE):
            check_type(name, value, _TYPES[name])
    _check_small_fields(body)
    if body.get("cache_control") is not None:
        check_marker("cache_control", body["cache_control"])


def check_type(where: str, value: Any, kind: Any) -> None:
    """A bool is not an integer here."""
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        kinds = kind if isinstance(kind, tuple) else (kind,)
        wanted = " or ".join(_NAMES.get(k, "number") for k in kinds)
        raise Refused(f"{where}: Input should be a valid {wanted}")


def check_marker(where: str, marker: Any) -> None:
    """A `cache_control` object."""
    check_type(where, marker, dict)
    if marker.get("type") != "ephemeral":
        raise Refused(f"{where}.type: Input should be 'ephemeral'")
    if marker.get("ttl", "5m") not in ("5m", "1h"):
        raise Refused(f"{where}.ttl: Input should be '5m' or '1h'")
    for name in marker.keys() - {"type", "ttl"}:
        raise Refused(f"{where}.{name}: Extra inputs are not permitted")


def _check_small_fields(body: dict[str, Any]) -> None:
    if not body["model"]:
        raise Refused("model: String should have at least 1 character")
    if body.get("service_tier", "auto") not in _SERVICE_TIERS:
        raise Refused("service_tier: Input should be 'auto' or 'standard_only'")
    if (body.get("speed") or "standard") not in ("standard", "fast"):
        raise Refused("speed: Input should be 'standard' or 'fast'")
    for n, sequence in enumerate(body.get("stop_sequences") or []):
        check_type(f"stop_sequences.{n}", sequence, str)
        if not sequence.strip():
            raise Refused("stop_sequences: each stop sequence must contain non-whitespace")
    _check_metadata(body.get("metadata") or {})


def _check_metadata(metadata: dict[str, Any]) -> None:
    for name in metadata.keys() - {"user_id"}:
        raise Refused(f"metadata.{name}: Extra inputs are not permitted")
    user_id = metadata.get("user_id")
    if user_id is not None:
        check_type("metadata.user_id", user_id, str)
        if len(user_id) > _MAX_USER_ID:
            raise Refused(f"metadata.user_id: String should have at most {_MAX_USER_ID} characters")
