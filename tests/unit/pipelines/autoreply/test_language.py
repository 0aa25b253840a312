"""The reply follows the persona's pin, else the contact's last clear language."""

import pytest

from pipelines.autoreply.language import Wanted, in_another, wanted
from pipelines.text import clear_language
from schemas.conversation import Author
from tests.builders import a_case, a_turn


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Coucou, tu fais quoi ce soir ?", "fr"),
        ("merci !", "fr"),
        ("j'ai 30 ans", "fr"),
        ("What are you up to?", "en"),
        ("thanks!", "en"),
        ("i'm broke", "en"),
        ("Hola, ¿qué haces hoy?", "es"),
        ("Was machst du heute Abend?", "de"),
        ("Ciao, cosa fai stasera?", "it"),
        ("Oi, o que você está fazendo?", "pt"),
        ("ok", None),
        ("lol", None),
        ("Maya", None),
        ("12 34", None),
        ("😂😂", None),
        ("Привет, как дела?", None),
        ("", None),
    ],
)
def test_a_language_is_told_only_when_it_is_clear(text: str, expected: str | None) -> None:
    assert clear_language(text) == expected


@pytest.mark.parametrize(
    ("said", "persona", "locale", "expected"),
    [
        (("what are you up to?",), "fr-CA", "en", Wanted("fr-CA", True)),
        (("what are you up to?",), None, "fr", Wanted("en", True)),
        (("tu fais quoi ce soir ?",), None, "fr-CA", Wanted("fr-CA", True)),
        (("what are you up to?", "ok"), None, "fr", Wanted("en", True)),
        (("what are you up to?", "et toi tu fais quoi ?"), None, "en", Wanted("fr", True)),
        (("ok",), None, "fr", Wanted("fr", False)),
        (("ok",), None, None, None),
    ],
)
def test_the_pin_then_the_last_clear_language_then_the_locale(
    said: tuple[str, ...], persona: str | None, locale: str | None, expected: Wanted | None
) -> None:
    case = a_case(*said, persona={"language": persona}, contact={"locale": locale})

    assert wanted(case) == expected


def test_our_own_words_do_not_count() -> None:
    turns = (a_turn("what are you up to?"), a_turn("je regarde un film ce soir", position=2, author=Author.AI))

    assert wanted(a_case(turns=turns, contact={"locale": None})) == Wanted("en", True)


@pytest.mark.parametrize(
    ("texts", "language", "expected"),
    [
        (["Je regarde un film ce soir"], Wanted("en", True), 0),
        (["I'm fine", "je regarde un film ce soir"], Wanted("en-GB", True), 1),
        (["I am watching a movie tonight"], Wanted("en", True), None),
        (["Bisous, à demain"], Wanted("en", True), None),
        (["Je regarde un film ce soir"], Wanted("en", False), None),
        (["Je regarde un film ce soir"], Wanted("ru", True), None),
        (["Je regarde un film ce soir"], None, None),
    ],
)
def test_a_bubble_in_another_language_is_found_when_both_are_clear(
    texts: list[str], language: Wanted | None, expected: int | None
) -> None:
    assert in_another(texts, language) == expected
