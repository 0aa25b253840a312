"""Silence that needs no model."""

import pytest

from schemas.conversation import Attachment, Author, Trigger, Turn
from schemas.decisions import Reply, Silence, SilenceReason
from schemas.errors import Code
from tests.builders import a_case, a_turn, dialogue
from tests.fakes import done, sending
from tests.replies import stage

ANSWERED = dialogue(("coucou", "salut toi"), newest=())


@pytest.mark.parametrize(
    ("turns", "trigger"),
    [
        ((), Trigger.MESSAGE),
        ((a_turn("  \n "),), Trigger.MESSAGE),
        ((a_turn("\u200b\ufeff \u00ad\u200d\u3164"),), Trigger.MESSAGE),
        (ANSWERED, Trigger.MESSAGE),
        (ANSWERED, Trigger.RESUME),
        ((a_turn("note", author=Author.OPERATOR),), Trigger.RETRY),
        ((), Trigger.FOLLOW_UP),
    ],
    ids=["deleted", "whitespace", "invisible", "answered", "resumed-answered", "nobody-wrote", "no-history"],
)
async def test_nothing_to_answer_is_silent(turns: tuple[Turn, ...], trigger: Trigger) -> None:
    on = stage()

    decision = await on.run(a_case(turns=turns, trigger=trigger))

    assert isinstance(decision, Silence)
    assert (decision.reason, decision.code, decision.read) == (
        SilenceReason.NOTHING_TO_ANSWER,
        Code.NOTHING_TO_ANSWER,
        False,
    )
    assert (on.heard, on.keep.reserved) == ([], [])


@pytest.mark.parametrize(
    ("turns", "trigger"),
    [
        ((a_turn("", attachments=(Attachment("image", "https://example.org/a.jpg"),)),), Trigger.MESSAGE),
        (ANSWERED, Trigger.FOLLOW_UP),
        (ANSWERED, Trigger.REGENERATE),
        (ANSWERED, Trigger.RETRY),
    ],
    ids=["picture", "follow-up", "regenerate", "retry"],
)
async def test_these_are_answered(turns: tuple[Turn, ...], trigger: Trigger) -> None:
    on = stage(sending("quoi de neuf ?"), done())

    assert isinstance(await on.run(a_case(turns=turns, trigger=trigger)), Reply)


async def test_two_bots_that_talk_to_each_other_are_stopped() -> None:
    on = stage()

    decision = await on.run(a_case(replies_last_minute=3, organization={"limits": {"replies_per_minute": 3}}))

    assert isinstance(decision, Silence)
    assert (decision.reason, decision.detail) == (
        SilenceReason.BOT_LOOP,
        "3 replies within a minute, at most 3 (replies_per_minute)",
    )


async def test_a_persona_that_was_switched_off_meanwhile_says_nothing() -> None:
    decision = await stage().run(a_case(persona={"autonomy": "off"}))

    assert isinstance(decision, Silence)
    assert decision.reason is SilenceReason.AUTONOMY_OFF
    assert [item.facts for item in decision.trace] == [{"code": None, "rule": "the persona's autonomy is off"}]
