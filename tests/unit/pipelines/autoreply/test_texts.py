"""Checks on what is said: honesty, leaks, repeats, banned words; what must match, and what must not."""

import pytest

from pipelines.autoreply.checks import banned_word
from pipelines.autoreply.honesty import Break, first_break, unanswered
from pipelines.autoreply.leaks import internal_in, markup_in, quotes
from pipelines.autoreply.repeats import Sayings
from schemas.conversation import Author, BubbleKind
from tests.builders import a_turn


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
    ("before", "texts", "expected"),
    [
        ((), ["je suis pas", "un bot"], 1),
        ((), ["coucou", "je suis", "un humain heureux"], 2),
        ((), ["I'm", "not", "an AI"], 2),
        (("je suis pas",), ["un bot"], 0),
        (("coucou", "it's me"), ["i swear"], 0),
        ((), ["je suis pas là", "un bot t'a écrit ?"], None),
        ((), ["je suis", "", "un humain heureux"], 2),
        ((), ["je suis crevée.", "une vraie journée"], None),
        ((), ["j'aime pas", "les robots"], None),
        (("je suis pas", "ok", "bon", "bref"), ["un bot"], None),
    ],
)
def test_a_sentence_over_several_bubbles_is_read_as_one(
    before: tuple[str, ...], texts: list[str], expected: int | None
) -> None:
    found = first_break(texts, "disclose", before)

    assert (found and found.candidate) == expected


def test_what_left_before_is_what_was_said_since_anybody_else_spoke() -> None:
    turns = [
        a_turn("vieux", author=Author.AI),
        a_turn("t'es là ?", position=2),
        a_turn("Une IA répond.", position=3, author=Author.AI, kind=BubbleKind.NOTICE),
        a_turn("je suis", position=4, author=Author.AI),
        a_turn("pas", position=5, author=Author.AI),
    ]

    assert (unanswered(turns), unanswered(turns[:2])) == (["je suis", "pas"], [])


@pytest.mark.parametrize(
    "text",
    ["you're not talking to a real person", "you're not a robot, rest", "une IA ? non merci", "no real person here"],
)
def test_what_denies_a_person_or_speaks_of_the_contact_is_no_claim(text: str) -> None:
    assert first_break([text], "disclose") is None


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
    assert Sayings().is_repeat(text, ["autre chose", earlier]) is expected


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
