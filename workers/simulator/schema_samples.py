"""Values that fit a JSON schema, for answers nobody scripted, and values that break it, for faults."""

from typing import Any

MAX_DEPTH = 8


def asks_for_a_verdict(schema: Any) -> bool:
    members = schema.get("properties") if isinstance(schema, dict) else None
    return isinstance(members, dict) and {"verdict", "issues"} <= members.keys()


def sample(schema: dict[str, Any], root: dict[str, Any] | None = None, depth: int = 0) -> Any:
    """The smallest value that fits: first choice, required members only, shortest lists and texts."""
    root = schema if root is None else root
    if depth > MAX_DEPTH:
        return None
    if "$ref" in schema:
        return sample(_follow(root, schema["$ref"]), root, depth + 1)
    for name in ("const", "default"):
        if name in schema:
            return schema[name]
    if schema.get("enum"):
        return schema["enum"][0]
    for name in ("anyOf", "oneOf", "allOf"):
        if schema.get(name):
            return sample(schema[name][0], root, depth + 1)
    return _of_type(schema, root, depth)


def _of_type(schema: dict[str, Any], root: dict[str, Any], depth: int) -> Any:
    kind = schema.get("type", "object")
    match kind[0] if isinstance(kind, list) else kind:
        case "object":
            members = schema.get("properties") or {}
            return {
                name: sample(members.get(name) or {"type": "string"}, root, depth + 1)
                for name in schema.get("required") or ()
            }
        case "array":
            return [sample(schema.get("items") or {}, root, depth + 1)] * int(schema.get("minItems", 0))
        case "string":
            return "-" * max(1, int(schema.get("minLength", 1)))
        case "integer" | "number":
            return schema.get("minimum", 0)
        case "boolean":
            return False
        case _:
            return None


def _follow(root: dict[str, Any], reference: str) -> dict[str, Any]:
    found: Any = root
    for name in reference.removeprefix("#/").split("/"):
        found = found.get(name, {}) if isinstance(found, dict) else {}
    return found if isinstance(found, dict) else {}


def violate(schema: dict[str, Any], given: dict[str, Any]) -> dict[str, Any]:
    """Arguments that no reading of `schema` accepts: a required one is missing, others have a wrong type."""
    members = schema.get("properties") or {}
    missing = next(iter(schema.get("required") or ()), None)
    wrong: dict[str, Any] = {
        name: [] if (members.get(name) or {}).get("type") in ("string", "integer", "number", "boolean") else 7
        for name in {**members, **given}
        if name != missing
    }
    return {**wrong, "no_such_argument": True}
