"""Whatever a provider answers, or a model writes where arguments belong: a message, or a failure that has a name."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.llm.dialects.anthropic import from_wire as from_anthropic
from pipelines.llm.dialects.openai import from_wire as from_openai
from schemas.errors import FailureKind, ModelFailure
from schemas.llm import ModelAnswer
from tests.fakes import HAIKU
from tests.fuzz.hostile import places, put
from workers.adapters.llm.reading import read_answer

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)
ANTHROPIC: dict[str, Any] = {
    "type": "message",
    "content": [
        {"type": "text", "text": "salut"},
        {"type": "tool_use", "id": "t1", "name": "send_message", "input": {"text": "salut"}},
    ],
    "stop_reason": "tool_use",
    "usage": {"input_tokens": 1, "output_tokens": 1, "cache_creation": {"ephemeral_1h_input_tokens": 0}},
}
OPENAI: dict[str, Any] = {
    "object": "chat.completion",
    "choices": [
        {
            "finish_reason": "tool_calls",
            "message": {
                "content": "salut",
                "tool_calls": [{"id": "t1", "type": "function", "function": {"name": "x", "arguments": "{}"}}],
            },
        }
    ],
    "usage": {"prompt_tokens": 1, "completion_tokens": 1, "prompt_tokens_details": {"cached_tokens": 0}},
}
DIALECTS = [(from_anthropic, ANTHROPIC), (from_openai, OPENAI)]


def read(body: bytes, dialect: Any) -> ModelAnswer | FailureKind:
    try:
        return read_answer(body, lambda message: dialect(message, HAIKU, None, 1))
    except ModelFailure as failure:
        return failure.kind


HOSTILE = [
    b"Infinity", b"-Infinity", b"NaN", b"1e999", b"9" * 4_000, b"9" * 5_000, b"-1", b"null", b'"\\ud800\\u0000"', b"[]",
    b"{}", b'{"a":' * 50 + b"1" + b"}" * 50, b'{"a":' * 400 + b"1" + b"}" * 400, b"[" * 980 + b"]" * 980,
    b"[" * 100_000 + b"]" * 100_000, b"true",
]  # fmt: skip


@pytest.mark.parametrize(("dialect", "whole"), DIALECTS, ids=["anthropic", "openai"])
@pytest.mark.parametrize("hostile", HOSTILE, ids=lambda raw: repr(raw[:12]))
def test_hostile_values_at_every_place(dialect: Any, whole: dict[str, Any], hostile: bytes) -> None:
    for at in [(), *places(whole)]:
        body = json.dumps(put(whole, at, "@")).encode().replace(b'"@"', hostile)
        answer = read(body, dialect)
        assert isinstance(answer, ModelAnswer) or answer is FailureKind.CUT, at
        if isinstance(answer, ModelAnswer):
            assert "\x00" not in json.dumps(answer.content, ensure_ascii=False)
            json.dumps(answer.content, ensure_ascii=False).encode()
            assert min(vars_of(answer)) >= 0


def test_the_samples_can_be_read() -> None:
    assert [len(read(json.dumps(whole).encode(), dialect).calls) for dialect, whole in DIALECTS] == [1, 1]  # type: ignore[union-attr]


def vars_of(answer: ModelAnswer) -> list[int]:
    usage = answer.usage
    return [usage.input, usage.cache_read, usage.cache_write_5m, usage.cache_write_1h, usage.output]


def test_arguments_that_are_nested_without_end_count_as_none() -> None:
    arguments = '{"a":' * 400 + "1" + "}" * 400
    body = put(OPENAI, ("choices", 0, "message", "tool_calls", 0, "function", "arguments"), arguments)

    answer = read(json.dumps(body).encode(), from_openai)

    assert isinstance(answer, ModelAnswer)
    assert answer.calls[0].args == {}


@given(st.sampled_from(DIALECTS), st.data())
def test_any_json_anywhere(dialect: Any, data: st.DataObject) -> None:
    reader, whole = dialect
    at = data.draw(st.sampled_from([(), *places(whole)]))
    body = json.dumps(put(whole, at, data.draw(JSON))).encode()

    assert isinstance(read(body, reader), ModelAnswer | FailureKind)


@given(st.binary(max_size=60))
def test_any_bytes(body: bytes) -> None:
    assert read(body, from_anthropic) is FailureKind.CUT
