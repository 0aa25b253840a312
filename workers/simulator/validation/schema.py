"""The JSON schema dialect of structured output and strict tools: what the grammar compiler does not take."""

from typing import Any

from workers.simulator.refusals import Refused

_UNSUPPORTED = {
    "integer": ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
    "number": ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
    "string": ("minLength", "maxLength", "pattern"),
    "array": ("maxItems", "uniqueItems", "contains", "minContains", "maxContains", "prefixItems"),
    "object": ("minProperties", "maxProperties", "patternProperties", "propertyNames"),
}
_TYPES = frozenset({*_UNSUPPORTED, "boolean", "null"})
_STRING_FORMATS = frozenset(
    {"date-time", "time", "date", "duration", "email", "hostname", "uri", "ipv4", "ipv6", "uuid"}
)
MAX_OPTIONAL, MAX_UNIONS, MAX_DEPTH = 24, 16, 64


def check_strict_schema(where: str, schema: dict[str, Any]) -> None:
    """Raises Refused at the first keyword, type or size that is not taken."""
    optional, unions = _walk(where, schema, 0)
    if optional > MAX_OPTIONAL:
        raise Refused(
            f"{where}: Schemas contain too many optional parameters ({optional}); the limit is {MAX_OPTIONAL}"
        )
    if unions > MAX_UNIONS:
        raise Refused(f"{where}: Schemas contain too many parameters with union types ({unions})")


def _walk(where: str, schema: Any, depth: int) -> tuple[int, int]:
    """Counts of optional members and unions below `schema`."""
    if not isinstance(schema, dict) or depth > MAX_DEPTH:
        raise Refused(f"{where}: schema must be an object, nested at most {MAX_DEPTH} deep")
    if "oneOf" in schema or "not" in schema:
        raise Refused(f"{where}: Schema type 'oneOf' is not supported")
    optional = unions = 0
    for kind in _kinds(where, schema):
        _check_keywords(where, kind, schema)
        if kind == "object":
            optional += len((schema.get("properties") or {}).keys() - set(schema.get("required") or ()))
    unions += "anyOf" in schema or isinstance(schema.get("type"), list)
    for child in _children(schema):
        below = _walk(where, child, depth + 1)
        optional, unions = optional + below[0], unions + below[1]
    return optional, unions


def _kinds(where: str, schema: dict[str, Any]) -> list[str]:
    kind = schema.get("type")
    if kind is None:
        if not schema.keys() & {"$ref", "anyOf", "allOf", "enum", "const"}:
            raise Refused(f"{where}: Schema must have a 'type', '$ref', 'anyOf', 'allOf', 'enum' or 'const'")
        return []
    kinds = kind if isinstance(kind, list) else [kind]
    for name in kinds:
        if name not in _TYPES:
            raise Refused(f"{where}: Schema type '{name}' is not supported")
    return kinds


def _check_keywords(where: str, kind: str, schema: dict[str, Any]) -> None:
    if found := [name for name in _UNSUPPORTED.get(kind, ()) if name in schema]:
        raise Refused(f"{where}: For '{kind}' type, properties {', '.join(found)} are not supported")
    if kind == "object" and schema.get("additionalProperties") is not False:
        raise Refused(f"{where}: For 'object' type, 'additionalProperties' must be explicitly set to false")
    if kind == "array" and schema.get("minItems", 0) not in (0, 1):
        raise Refused(f"{where}: For 'array' type, 'minItems' values other than 0 or 1 are not supported")
    if kind == "string" and schema.get("format") not in (None, *_STRING_FORMATS):
        raise Refused(f"{where}: For 'string' type, format '{schema['format']}' is not supported")


def _children(schema: dict[str, Any]) -> list[Any]:
    children: list[Any] = []
    for name in ("properties", "$defs", "definitions"):
        children += (schema.get(name) or {}).values()
    for name in ("anyOf", "allOf"):
        children += schema.get(name) or []
    if "items" in schema:
        children.append(schema["items"])
    return children
