"""The rules of the review on sentences of our own in French and English: what each must find and must let pass.

A false alarm costs a correction pass, so the negatives matter as much: offers, questions, idioms, a persona's own life.
"""

import time
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from pipelines.autoreply.rules import broken
from schemas.catalogue import Had, MediaFact, MediaHistory
from schemas.conversation import Attachment, Author, BubbleKind, Case, FollowUp
from schemas.decisions import Bubble
from schemas.money import Price
from tests.builders import NOON, a_case, a_turn, dialogue

SENTENCES = Path(__file__).parents[3] / "data" / "review"

FACTS: dict[str, Any] = {
    "persona": {
        "instructions": "Maya a 27 ans et filme ses randonnées. Tout est sur https://maya-rando.fr/videos ou par mail "
        "à contact@maya-rando.fr. Le pack coûte quarante euros.",
    },
    "organization": {"ai_context": "La vidéo du GR20 sort le 3 mai."},
    "contact": {"profile": {"city": "Lyon", "budget": "25.00"}},
    "turns": dialogue(
        ("t'as fait combien ?", "1 500 mètres de dénivelé"),
        ("et l'extrait ?", "il est à 12,50"),
        newest=("mon numéro c'est 06.12.34.56.78, la vidéo à vingt-cinq euros ? 90 ou 42 vues",),
    ),
}
RULES = {
    "claimed_action": {"claimed_action"},
    "promise": {"promise"},
    "invented": {"invented_price", "invented_link", "invented_date", "invented_number"},
    "other_contact": {"other_contact"},
    "slips": {"persona_name", "reasoning_leak", "placeholder"},
}


def the_facts(**changed: Any) -> Case:
    return a_case(**{**FACTS, **changed})


def found(
    *texts: str, case: Case | None = None, tools: tuple[str, ...] = (), beside: BubbleKind | None = None
) -> list[str]:
    """The rules that these bubbles break, with a caption of the kind `beside` behind them."""
    bubbles = [Bubble(BubbleKind.TEXT, text) for text in texts]
    if beside is not None:
        bubbles.append(Bubble(beside, "pour toi"))
    return [issue.rule for issue in broken(bubbles, case or the_facts(), tools)]


def sentences(rule: str, sign: str) -> list[str]:
    lines = (SENTENCES / f"{rule}.txt").read_text(encoding="utf-8").splitlines()
    return [line[2:] for line in lines if line.startswith(sign + " ")]


@pytest.mark.parametrize("rule", RULES)
def test_what_it_must_find(rule: str) -> None:
    assert [text for text in sentences(rule, "+") if not RULES[rule].intersection(found(text))] == []


@pytest.mark.parametrize("rule", RULES)
def test_what_it_must_let_pass_and_every_other_rule_too(rule: str) -> None:
    """The innocent sentences of one rule are innocent to all."""
    assert [(text, rules) for text in sentences(rule, "-") if (rules := found(text))] == []


@pytest.mark.parametrize(
    ("text", "beside", "expected"),
    [
        ("je t'envoie la photo", BubbleKind.IMAGE, []),
        ("je t'envoie la vidéo", BubbleKind.PAYMENT, []),
        ("here's the link", BubbleKind.PAYMENT, []),
        ("je t'envoie un vocal", BubbleKind.VOICE, []),
        ("je vais t'envoyer une photo", BubbleKind.IMAGE, []),
        ("je t'envoie un vocal", BubbleKind.IMAGE, ["claimed_action"]),
        ("je t'envoie la photo", BubbleKind.VOICE, ["claimed_action"]),
        ("I'll get back to you", BubbleKind.IMAGE, ["promise"]),
        ("voilà le lien : https://maya-rando.fr/videos", None, []),
        ("je te l'envoie", BubbleKind.IMAGE, []),
        ("I'll send it now", BubbleKind.VIDEO, []),
    ],
)
def test_what_the_reply_does_may_be_said(text: str, beside: BubbleKind | None, expected: list[str]) -> None:
    assert found(text, beside=beside) == expected


def test_what_was_sent_before_may_be_spoken_of() -> None:
    photo = a_turn("regarde", author=Author.AI, kind=BubbleKind.IMAGE)
    shown = a_turn("tiens", author=Author.OPERATOR, attachments=(Attachment("image", "https://x.test/1"),))
    long_ago = a_turn("coucou", position=40)
    text, just_now = "je t'ai envoyé une photo", "je viens de t'envoyer une photo"

    said = {
        name: [found(text, case=a_case(turns=[turn])), found(just_now, case=a_case(turns=[turn]))]
        for name, turn in {"sent": photo, "by a person": shown, "out of sight": long_ago, "never": a_turn()}.items()
    }

    assert said == {
        "sent": [[], []],
        "by a person": [[], []],
        "out of sight": [[], ["claimed_action"]],
        "never": [["claimed_action"], ["claimed_action"]],
    }


def test_what_the_team_did_or_asked_for_may_be_said() -> None:
    spoken = a_case(turns=[a_turn("je m'en occupe", author=Author.OPERATOR), a_turn(position=2)])
    asked = a_case(instruction="dis-lui que tu lui écris demain")

    assert (found("je t'ai remboursé", case=spoken), found("je t'écris demain", case=asked)) == ([], [])


@pytest.mark.parametrize(("number", "expected"), [(1, []), (2, ["promise"])])
def test_a_follow_up_may_speak_of_the_next_one_that_it_plans(number: int, expected: list[str]) -> None:
    assert found("je te réécris demain", case=a_case(follow_up=FollowUp(number))) == expected


def test_a_payment_bubble_may_name_what_it_costs() -> None:
    def sold(price: Price) -> list[str]:
        return [issue.rule for issue in broken([Bubble(BubbleKind.PAYMENT, "à 37,50 €", (), price)], a_case())]

    assert sold(Price(Decimal("37.50"), "EUR")) == []
    assert sold(Price(Decimal("12"), "EUR")) == ["invented_price"]


def test_what_a_lookup_of_this_run_answered_may_be_said() -> None:
    text = "la vidéo de 45 minutes est à 19,90 €, voir https://x.test/v, dès le 12 février"

    assert found(text) == ["invented_link", "invented_date", "invented_price", "invented_number"]
    assert found(text, tools=('{"price": "19.90", "minutes": 45}', "https://x.test/v 2027-02-12")) == []


def test_what_was_said_before_the_window_may_be_said_again() -> None:
    summary = "Their mail is lea@x.test, they paid 37,50 €, the show is on 12 February, see https://x.test/v"
    text = "je t'écris à lea@x.test : 37,50 €, le 12 février, https://x.test/v"

    assert sorted(found(text)) == ["invented_date", "invented_link", "invented_price", "other_contact"]
    assert found(text, case=a_case(summary=summary)) == []


def test_what_we_asked_for_media_may_be_named_again() -> None:
    price = Price(Decimal("37.50"), "EUR")
    offered = a_case(
        turns=[a_turn("tiens", author=Author.AI, kind=BubbleKind.PAYMENT, price=price), a_turn(position=2)]
    )
    fact = MediaFact(Had.OFFERED, "m-1", NOON, price=price)
    long_ago = a_case(media=MediaHistory((fact,)))

    said = [found("c'était 37,50 €", case=case) for case in (a_case(), offered, long_ago)]

    assert said == [["invented_price"], [], []]


def test_a_bank_account_that_the_conversation_knows_may_be_said_again() -> None:
    iban = "FR7630006000011234567890189"

    assert (found(f"c'est {iban}"), found(f"c'est {iban}", case=a_case(iban))) == (["other_contact"], [])


def test_days_near_today_may_be_worked_out_from_a_weekday() -> None:
    """Noon in Paris on November 30th, a Monday."""
    friday, tomorrow = "le 4 décembre", "le 1er décembre"

    assert found(friday, case=a_case("tu fais quoi vendredi ?")) == []
    assert (found(friday, case=a_case("coucou")), found(tomorrow, case=a_case("coucou"))) == (["invented_date"], [])


def test_a_rule_speaks_once_of_a_bubble() -> None:
    assert found("Je t'envoie la photo. Je t'envoie la vidéo.") == ["claimed_action"]


def test_an_issue_names_the_bubble_and_says_what_to_do() -> None:
    bubbles = [Bubble(BubbleKind.TEXT, text) for text in ("coucou", "c'est 30 €", "et j'ai 34 ans, pas 43")]

    assert [(issue.candidate, issue.severity, issue.feedback) for issue in broken(bubbles, the_facts())] == [
        (
            1,
            "error",
            "'30 €' stands neither in the conversation, the persona, the profile nor a tool's answer. "
            "Name no price, or look it up.",
        ),
        (
            2,
            "error",
            "'34' stands neither in the conversation, the persona, the profile nor a tool's answer. "
            "Say it without the number.",
        ),
    ]


def test_somebodys_telephone_number_is_critical_and_not_repeated_to_the_writer() -> None:
    (issue,) = broken([Bubble(BubbleKind.TEXT, "son numéro : 06 99 88 77 66")], the_facts())

    assert (issue.severity, issue.feedback) == (
        "critical",
        "It gives a telephone number: this conversation does not know it. Leave it out.",
    )


def test_hostile_text_of_full_length_is_judged_in_time() -> None:
    """A persona may allow 10 000 characters, and a run has other things to do. In seconds of processor time."""
    took = {}
    for text in (
        "je t'envoie " * 800,
        "1 " * 5000,
        "a." * 5000,
        "+0" * 5000,
        "12/" * 3300,
        "(((" * 3300,
        "cent " * 2000,
    ):
        began = time.thread_time()
        found(text)
        took[text[:4]] = time.thread_time() - began

    assert max(took.values()) < 1.0, took
