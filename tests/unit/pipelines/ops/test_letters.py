"""What is kept of a queue message that nobody could read, and of a trace."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.ops.letters import shown_message, without_texts

HINT = {"actor_name": "auto_reply", "args": [{"conversation": 1, "job": 7, "new": True}], "message_id": "a1-b2"}


def test_a_message_of_plain_words_is_kept_whole() -> None:
    shown, whole = shown_message(json.dumps(HINT).encode())

    assert (json.loads(shown), whole) == (HINT, True)


@pytest.mark.parametrize(
    ("message", "shown"),
    [
        ({"text": "je m'appelle Léo"}, {"text": "[16 characters]"}),
        ({"key": "sk-ant-api03-abcdef"}, {"key": "[19 characters]"}),
        ({"url": "redis://me:secret@host/0"}, {"url": "[24 characters]"}),
        ({"secret": "whsec_MDEyMzQ1"}, {"secret": "[14 characters]"}),
        ({"un deux": 1}, {"[7 characters]": 1}),
        (["x" * 65], ["[65 characters]"]),
    ],
)
def test_words_of_people_and_secrets_are_counted_not_kept(message: Any, shown: Any) -> None:
    kept, whole = shown_message(json.dumps(message).encode())

    assert (json.loads(kept), whole) == (shown, False)


def test_what_is_no_json_is_measured() -> None:
    assert shown_message(b"je suis L\xe9o") == ("[11 bytes, no JSON]", False)
    assert shown_message(b"[" * 100_000) == ("[100000 bytes, no JSON]", False)


def test_a_long_one_is_cut_and_cannot_be_put_back() -> None:
    shown, whole = shown_message(json.dumps([1] * 5_000).encode())

    assert (len(shown), whole) == (10_000, False)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(JSON)
def test_what_is_whole_says_the_same_and_nothing_else_is(message: Any) -> None:
    shown, whole = shown_message(json.dumps(message).encode())

    assert whole == (json.loads(shown) == message)
    assert "\x00" not in shown


def test_a_trace_names_calls_and_tools_without_what_was_said() -> None:
    trace = [
        {"run": "run_1", "n": 1, "kind": "model", "model": "m", "input": 3, "text": "salut Léo"},
        {"run": "run_1", "n": 2, "kind": "tool", "tool": "send_text", "args": {"text": "salut"}, "refused": True}
        | {"reason": "« salut » says nothing", "result": "x"},
    ]

    assert without_texts(trace) == [
        {"run": "run_1", "n": 1, "kind": "model", "model": "m", "input": 3},
        {"run": "run_1", "n": 2, "kind": "tool", "tool": "send_text", "refused": True},
    ]
