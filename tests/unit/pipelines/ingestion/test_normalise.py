"""What is stored of what was posted, and what is refused."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.ingestion.dedupe import fingerprint
from pipelines.ingestion.normalise import normalised, normalised_patch
from schemas.errors import Invalid, TooLarge
from schemas.http import MessageIn, MessagePatch

SURROGATES = st.text(st.characters(codec=None))


def a_message(**changes: Any) -> MessageIn:
    fields = {"id": "m-1", "conversation": "c-1", "persona": "maya", "author": "contact", "text": "coucou"}
    return MessageIn.model_validate(fields | changes)


@pytest.mark.parametrize(
    ("raw", "kept"),
    [
        ("a\x00b", "ab"),
        ("\ud83d\ude00", "😀"),
        ("a\ud800", "a\ufffd"),
        ("un\r\ndeux", "un\ndeux"),
        ("👩‍👩‍👧 é", "👩‍👩‍👧 é"),
    ],
)
def test_text_is_stored_clean(raw: str, kept: str) -> None:
    assert normalised(a_message(text=raw)).text == kept


@given(SURROGATES)
def test_what_is_stored_can_be_stored_and_is_clean_already(raw: str) -> None:
    kept = normalised(a_message(text=f"a{raw}")).text or ""

    assert (kept.encode().decode(), normalised(a_message(text=kept)).text, "\x00" in kept) == (kept, kept, False)


def test_a_profile_is_made_storable_to_its_keys() -> None:
    contact = {"id": "fan", "profile": {"a\x00": ["\udfff", 1, None, {"b": True}]}}

    stored = normalised(a_message(contact=contact)).contact

    assert stored is not None
    assert stored.profile == {"a": ["\ufffd", 1, None, {"b": True}]}


@pytest.mark.parametrize("changes", [{"text": None}, {"text": ""}, {"text": None, "attachments": []}])
def test_an_empty_message_is_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(Invalid, match="empty"):
        normalised(a_message(**changes))


@pytest.mark.parametrize(
    "changes", [{"text": " "}, {"text": None, "attachments": [{"type": "image", "url": "https://a.example"}]}]
)
def test_whitespace_or_an_attachment_is_enough(changes: dict[str, Any]) -> None:
    assert normalised(a_message(**changes)).text == (changes["text"] or "")


@pytest.mark.parametrize(
    "patch", [MessagePatch(text="x" * 65_537), MessagePatch(attachments=[{"type": "a", "url": "b"}] * 21)]
)
def test_a_large_edit_is_refused(patch: MessagePatch) -> None:
    with pytest.raises(TooLarge):
        normalised_patch(patch)


def test_equal_bodies_have_equal_fingerprints_and_others_have_not() -> None:
    one = a_message(contact={"id": "f", "profile": {"a": 1, "b": [1, 2]}})
    same = MessageIn.model_validate(json.loads(one.model_dump_json()))
    other_order = a_message(contact={"id": "f", "profile": {"b": [1, 2], "a": 1}})
    other = a_message(contact={"id": "f", "profile": {"a": 1, "b": [2, 1]}})

    prints = [fingerprint(message) for message in (one, same, other_order, other)]
    assert [value == prints[0] for value in prints] == [True, True, True, False]
