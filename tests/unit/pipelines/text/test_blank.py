"""Texts that show nothing, and what is done with them."""

import pytest

from pipelines.delivery.edited import edited
from pipelines.text import is_blank
from schemas.channels import Channel
from schemas.conversation import BubbleKind
from schemas.documents import KnowledgeDocument
from schemas.errors import Invalid
from schemas.manifest import Manifest
from workers.adapters.postgres.acceptable import refuse_unacceptable

NOTHING = ["", " \n\t", "\u200b", "\ufeff", "\u00ad\u200d", "\u3164\u2800", "\u2066\u2069", "\ufe0f", "\U000e0041"]
SOMETHING = ["a", ".", "\u200b?", "🛑", "👩\u200d👩", "ក", "\u200fא"]


@pytest.mark.parametrize("text", NOTHING, ids=ascii)
def test_spaces_and_invisible_characters_are_nothing(text: str) -> None:
    assert is_blank(text)


@pytest.mark.parametrize("text", SOMETHING, ids=ascii)
def test_one_character_that_is_seen_is_something(text: str) -> None:
    assert not is_blank(text)


@pytest.mark.parametrize("text", NOTHING[1:], ids=ascii)
def test_a_bubble_cannot_be_edited_to_nothing(text: str) -> None:
    with pytest.raises(Invalid, match="nothing to read"):
        edited(text, "salut", BubbleKind.TEXT, Channel.WEBHOOK)


def test_a_document_of_nothing_is_refused() -> None:
    document = KnowledgeDocument.model_validate(
        {"kind": "Document", "name": "prices", "scope": "organization", "text": "\u200b\ufeff"}
    )

    with pytest.raises(Invalid, match=r"resources\.0\.text"):
        refuse_unacceptable(Manifest.model_construct(resources=[document]))
