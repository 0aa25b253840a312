"""A hint survives the wire, and nothing else does."""

import json

import pytest
from dramatiq import Message
from hypothesis import given
from hypothesis import strategies as st

from schemas.jobs import AutoReply, DelayedSend, Deliver, Hint
from workers.runtime.wire import Unreadable, decode, encode

HINTS = {kind.name: kind for kind in (AutoReply, DelayedSend, Deliver)}
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@pytest.mark.parametrize(
    "hint",
    [AutoReply(job=1, conversation=2), DelayedSend(job=2**63 - 1, conversation=1), Deliver(delivery=1, conversation=0)],
)
def test_a_hint_comes_out_as_it_went_in(hint: Hint) -> None:
    assert decode(encode(hint)[1], HINTS) == hint


def test_dramatiq_itself_can_read_it() -> None:
    message_id, raw = encode(AutoReply(job=1, conversation=2))

    message = Message.decode(raw)  # type: ignore[var-annotated]

    assert (message.queue_name, message.actor_name, message.args, message.options) == (
        "reply",
        "auto_reply",
        ({"conversation": 2, "job": 1},),
        {"redis_message_id": message_id},
    )


@given(st.binary())
def test_any_bytes_are_a_hint_or_unreadable(raw: bytes) -> None:
    with pytest.raises(Unreadable):
        decode(raw, HINTS)


@given(JSON, JSON)
def test_any_arguments_are_a_hint_or_unreadable(args: object, kwargs: object) -> None:
    raw = json.dumps({"actor_name": "auto_reply", "args": args, "kwargs": kwargs}).encode()

    with pytest.raises(Unreadable):
        decode(raw, HINTS)


def test_what_is_wrong_is_said_without_a_word_of_the_message() -> None:
    raw = json.dumps({"actor_name": "auto_reply", "args": [{"job": "my secret", "my secret": 1}]}).encode()

    with pytest.raises(Unreadable) as refused:
        decode(raw, HINTS)

    assert str(refused.value) == "auto_reply is malformed: conversation, job"
