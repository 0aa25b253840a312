"""What an operator's edit becomes before it leaves."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.delivery.edited import edited
from pipelines.text import LIMITS
from schemas.channels import Channel
from schemas.conversation import BubbleKind
from schemas.errors import Invalid
from schemas.speech import MAX_CHARACTERS

TEXT, VOICE = BubbleKind.TEXT, BubbleKind.VOICE


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        ("C'est **vraiment** bien : https://ex.fr/a_b_c", "C'est vraiment bien : https://ex.fr/a_b_c"),
        (" # Menu\n- [la carte](https://ex.fr) ", "Menu\n- la carte (https://ex.fr)"),
        ("*rire* t'es bête", "*rire* t'es bête"),
    ],
)
@pytest.mark.parametrize("kind", [TEXT, VOICE, BubbleKind.IMAGE])
def test_an_edit_is_rendered_as_a_draft_is(words: str, shown: str, kind: BubbleKind) -> None:
    assert edited(words, "avant", kind, Channel.WEBHOOK) == [shown]


def test_words_that_come_back_unchanged_are_not_rendered_again() -> None:
    assert edited("le code est **42**", "le code est **42**", TEXT, Channel.WEBHOOK) == ["le code est **42**"]


def test_a_text_over_the_channels_limit_becomes_several() -> None:
    sentence = "Je te raconte ma journée. "

    parts = edited(sentence * 60, "avant", TEXT, Channel.INSTAGRAM)

    assert parts == [(sentence * 37).strip(), (sentence * 23).strip()]


@given(st.text(st.characters(codec="utf-8"), min_size=1, max_size=80), st.integers(1, 60), st.sampled_from(Channel))
def test_whatever_is_written_something_fits_and_is_left_to_say(piece: str, times: int, channel: Channel) -> None:
    words = piece * times + "a"

    parts = edited(words, "", TEXT, channel)

    limit = LIMITS[channel]
    assert ([part for part in parts if limit.size(part) > limit.most], [p for p in parts if not p.strip()]) == ([], [])
    assert parts


@pytest.mark.parametrize("words", ["👍👍", "a" * (MAX_CHARACTERS + 1)])
def test_what_no_voice_can_say_is_refused_by_name(words: str) -> None:
    with pytest.raises(Invalid) as refused:
        edited(words, "avant", VOICE, Channel.WEBHOOK)

    assert [problem["field"] for problem in refused.value.facts["errors"]] == ["text"]


def test_a_spoken_text_is_not_cut_for_its_readers() -> None:
    words = "Bonjour à toi. " * 100

    assert edited(words, "avant", VOICE, Channel.INSTAGRAM) == [words.strip()]
