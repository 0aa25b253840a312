"""What the rules of honesty hear, and what they must not: sentences of our own in French and English, one file a rule.

`+` fires, `-` must not. The negatives are negations, quotations, other people, years past, jokes and homonyms.
"""

from collections.abc import Callable
from pathlib import Path
from time import thread_time

import pytest

from pipelines.autoreply.honesty import first_break
from pipelines.honesty import distress, identity, minors, self_harm, stop_words

SENTENCES = Path(__file__).parents[3] / "data" / "honesty"


def draft(mode: str) -> Callable[[str], str | None]:
    def rule(text: str) -> str | None:
        found = first_break([text], mode)
        return None if found is None else found.rule

    return rule


RULES: dict[str, Callable[[str], str | None]] = {
    "identity": identity.question,
    "minors": minors.signal,
    "self_harm": self_harm.signal,
    "stop_words": stop_words.asked,
    "distress": distress.money,
    "claims": draft("disclose"),
    "admissions": draft("handover"),
}


def sentences(rule: str, sign: str) -> list[str]:
    lines = (SENTENCES / f"{rule}.txt").read_text(encoding="utf-8").splitlines()
    return [line[2:] for line in lines if line.startswith(sign + " ")]


@pytest.mark.parametrize("rule", RULES)
def test_what_it_must_hear(rule: str) -> None:
    assert [text for text in sentences(rule, "+") if RULES[rule](text) is None] == []


@pytest.mark.parametrize("rule", RULES)
def test_what_it_must_let_pass(rule: str) -> None:
    assert [(text, RULES[rule](text)) for text in sentences(rule, "-") if RULES[rule](text) is not None] == []


@pytest.mark.parametrize("rule", RULES)
def test_no_other_rule_for_contacts_fires_on_its_innocent_sentences(rule: str) -> None:
    others = {"identity", "self_harm", "stop_words"} - {rule}

    assert [text for text in sentences(rule, "-") if any(RULES[other](text) for other in others)] == []


@pytest.mark.parametrize(
    ("text", "asked", "expected"),
    [
        ("15", "Tu as quel âge ?", "answers_age"),
        ("15 et toi ?", "au fait, quel âge as-tu ?", "answers_age"),
        ("sixteen", "How old are you?", "answers_age"),
        ("j'en ai 15", "T'as quel âge ?", "answers_age"),
        ("15 ans et demi", "Tu as quel âge ?", "answers_age"),
        ("j'en ai 15", "Tu as combien de chats ?", None),
        ("15", "Tu viens à quelle heure ?", None),
        ("25", "Tu as quel âge ?", None),
        ("15 euros", "Tu as quel âge ?", None),
    ],
)
def test_a_bare_number_is_an_age_when_one_was_asked_for(text: str, asked: str, expected: str | None) -> None:
    assert minors.signal(text, asked=asked) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("je suis née en 2012", "says_birth_year"),
        ("I was born in 2010", "says_birth_year"),
        ("née en 2012", "says_birth_year"),
        ("moi née le 3 mai 2012", "says_birth_year"),
        ("née en 1998", None),
        ("ma fille, née en 2012", None),
        ("je suis né en 1998", None),
        ("mon fils est né en 2012", None),
        ("ma fille me dit je suis née en 2012", None),
    ],
)
def test_a_birth_year_is_held_against_the_year_it_is_now(text: str, expected: str | None) -> None:
    assert (minors.signal(text, year=2026), minors.signal(text)) == (expected, None)


HOSTILE = (
    "j'ai ",
    "a",
    '"',
    "t'es un ",
    "stop ",
    "« ",
    "a.",
    "i ",
    "? ",
    ". ",
    "a\n",
    "s-t-o-p ",
    "i'm only ",
    "née en ",
)


@pytest.mark.parametrize("rule", ["identity", "minors", "self_harm", "stop_words", "distress"])
def test_hostile_text_of_full_length_is_read_in_time(rule: str) -> None:
    """At ingestion these rules run under no time limit but this. A hundred times what they take on a busy machine,
    a tenth of what the square of the length would."""
    for piece in HOSTILE:
        run = piece * (65_000 // len(piece.encode()))
        for text in (run, f"z{run}z"):
            began = thread_time()
            RULES[rule](text)
            assert thread_time() - began < 5, piece


def test_what_is_said_between_a_lot_of_signs_is_heard_and_at_once() -> None:
    began = thread_time()

    assert stop_words.asked("z" + "?" * 65_000 + "z") is None
    assert stop_words.asked("?" * 30_000 + "stop" + "!" * 30_000) == "stop_word"
    assert thread_time() - began < 5
