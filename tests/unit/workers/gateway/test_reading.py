"""Which bodies are read, and as what."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.errors import BadRequest
from workers.gateway.reading import MAX_DEPTH, parse

TEXT = st.text(st.characters(exclude_characters="\x00", exclude_categories=["Cs"]))
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXT,
    lambda children: st.lists(children) | st.dictionaries(TEXT, children),
    max_leaves=20,
)


@given(JSON)
def test_json_comes_back_as_it_was(value: Any) -> None:
    assert parse(json.dumps(value).encode()) == value


@pytest.mark.parametrize(
    "body",
    [
        b"{",
        b'{"a": NaN}',
        b'{"a": -Infinity}',
        b'{"a": 1e999}',
        b'{"a": "\xff"}',
        b"\xff\xfe{\x00}\x00",
        b"[" * 100_000,
        b"[" * (MAX_DEPTH + 2) + b"]" * (MAX_DEPTH + 2),
        b"9" * 5000,
    ],
)
def test_what_is_no_strict_json_is_refused(body: bytes) -> None:
    with pytest.raises(BadRequest):
        parse(body)


def test_text_that_no_database_holds_is_repaired() -> None:
    body = rb'{"a\u0000": ["x\u0000y", "\ud83d\ude00", "\ud83d", {"b": "\udc00!"}]}'

    assert parse(body) == {"a": ["xy", "😀", "\ufffd", {"b": "\ufffd!"}]}
