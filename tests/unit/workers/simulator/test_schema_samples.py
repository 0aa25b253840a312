"""Values that fit a schema, and arguments that do not."""

from typing import Any

import pytest

from workers.simulator.schema_samples import sample, violate

SAMPLES: list[tuple[dict[str, Any], Any]] = [
    ({"type": "string"}, "-"),
    ({"type": "string", "minLength": 3}, "---"),
    ({"type": ["integer", "null"], "minimum": 2}, 2),
    ({"enum": ["free", "paid"]}, "free"),
    ({"const": 7}, 7),
    ({"anyOf": [{"type": "boolean"}, {"type": "null"}]}, False),
    ({"type": "array", "items": {"type": "number"}, "minItems": 2}, [0, 0]),
    ({"$ref": "#/$defs/a", "$defs": {"a": {"type": "null"}}}, None),
    (
        {
            "type": "object",
            "properties": {"a": {"type": "string"}, "b": {"type": "string"}},
            "required": ["b"],
        },
        {"b": "-"},
    ),
]


@pytest.mark.parametrize(("schema", "value"), SAMPLES)
def test_the_smallest_fitting_value(schema: dict[str, Any], value: Any) -> None:
    assert sample(schema) == value


def test_a_schema_that_contains_itself_comes_to_an_end() -> None:
    node = {"type": "object", "properties": {"next": {"$ref": "#"}}, "required": ["next"]}

    assert isinstance(sample(node), dict)


def test_violating_arguments_miss_one_and_mistype_the_rest() -> None:
    schema = {
        "type": "object",
        "properties": {"text": {"type": "string"}, "limit": {"type": "integer"}, "ids": {"type": "array"}},
        "required": ["text"],
    }

    assert violate(schema, {"text": "hi"}) == {"limit": [], "ids": 7, "no_such_argument": True}
