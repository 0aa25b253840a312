"""Checks on what is said: honesty, leaks, repeats, banned words; what must match, and what must not."""

import pytest

from pipelines.autoreply.checks import banned_word
from pipelines.autoreply.honesty import Break, first_break
from pipelines.autoreply.leaks import internal_in, markup_in, quotes
from pipelines.autoreply.repeats import is_repeat


@pytest.mark.parametrize(
    "text",
    [
        "promis c'est moi",
        "Promis, c’est bien moi !",
        "I'm not a bot",
        "im… haha I am not an AI, silly",
        "I'm a real person",
        "I’m human like you",
        "there's no robot here",
        "it's really me typing",
        "I swear it's me",
        "je suis pas un robot",
        "Je ne suis PAS une IA",
        "chuis pas un bot mdr",
        "je suis bien humaine",
        "je suis une vraie fille",
        "y a pas de robot ici",
        "une vraie personne te répond",
        "c'est bien moi qui t'écris",
        "je suis re\u0301elle",
        "I'm n\u200bot a b\u200bot",
    ],
)
@pytest.mark.parametrize("mode", ["handover", "disclose"])
def test_a_claim_to_be_human_is_found_in_any_mode(text: str, mode: str) -> None:
    assert first_break(["coucou", text], mode) == Break(1, "claims_to_be_human")


@pytest.mark.parametrize(
    "text",
    ["I'm an AI", "as an AI, I cannot", "je suis une IA", "En tant qu'intelligence artificielle"],
)
def test_an_admission_is_found_in_handover_mode_only(text: str) -> None:
    assert first_break([text], "handover") == Break(0, "admits_to_be_an_ai")
    assert first_break([text], "disclose") is None


@pytest.mark.parametrize(
    "text",
    [
        "I'm not sure, sorry",
        "I'm really happy to read you",
        "I am a morning person",
        "c'est moi sur la photo",
        "je suis pas disponible ce soir",
        "je suis une personne calme",
        "j'aime bien ce robot de cuisine",
        "je suis vraiment touchée",
        "I promise I will look at it",
        "tu es humain après tout",
        "je suis la la semaine prochaine",
        "my new AI course starts monday",
    ],
)
def test_ordinary_sentences_break_no_honesty_rule(text: str) -> None:
    assert first_break([text], "handover") is None


@pytest.mark.parametrize(
    "text",
    ["<b>hi</b>", "hi <br/>", "</answer>", "{{ name }}", "{% if %}", "${name}", "{first_name}", "<|im_end|>", "[/INST]",
     '{"name": "send"}', "assistant: coucou", "<!-- x -->"],
)  # fmt: skip
def test_markup_is_a_leak(text: str) -> None:
    assert markup_in(text) is not None


@pytest.mark.parametrize(
    "text",
    ["je t'aime <3", "3 < 5 et 7 > 2", "**gras** et _italique_", "[lien](https://example.org?a=1&b=2)", ":{ dommage",
     "`code`", "le user: c'est toi", "10 % de sourire"],
)  # fmt: skip
def test_markdown_hearts_and_signs_are_no_leak(text: str) -> None:
    assert markup_in(text) is None


def test_our_tools_and_marks_are_never_named() -> None:
    assert internal_in("j'ai mis ton message via Send_Message")
    assert internal_in("mon [PLAN] est simple")
    assert internal_in("voir job_42")
    assert not internal_in("j'ai un plan pour ce soir, un petit job d'été")


def test_a_quoted_passage_is_found_across_bubbles_and_short_overlaps_are_not() -> None:
    secret = "You write chat replies in the voice of a persona described below, to one contact."

    assert quotes(["well: you write chat replies in the", "VOICE of a persona, described below"], secret)
    assert not quotes(["you write chat replies in the", "morning"], secret)


@pytest.mark.parametrize(
    ("text", "earlier", "expected"),
    [
        ("Coucou !!", "coucou", True),
        ("😘", "😘", True),
        ("😘", "😍", False),
        ("Tu fais quoi de beau ce soir ?", "tu fais quoi de beau ce soir", True),
        ("Tu fais quoi de beau ce soir alors ?", "Tu fais quoi de beau ce soir ?", True),
        ("Tu fais quoi de beau ce week-end ?", "Tu as mangé quoi de bon hier soir ?", False),
        ("super oui", "super non", False),
    ],
)
def test_repeats(text: str, earlier: str, expected: bool) -> None:
    assert is_repeat(text, ["autre chose", earlier]) is expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Paypal moi", "paypal"),
        ("PAYPÀL", "paypal"),
        ("pay\u200bpal", "paypal"),
        ("ｐａｙｐａｌ", "paypal"),
        ("mon numéro perso", "Numero Perso"),
        ("paypalette", None),
        ("", None),
    ],
)
def test_banned_words_are_whole_words_without_case_and_accents(text: str, expected: str | None) -> None:
    assert banned_word(text, ("paypal", "Numero Perso", " ")) == expected
