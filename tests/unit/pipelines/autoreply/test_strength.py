"""Which way a run's reply is written: chosen as it begins, told in its trace, kept until it ends."""

from dataclasses import replace

from schemas.agent import TraceKind
from schemas.conversation import Author, BubbleKind, Effort
from schemas.llm import Task
from tests.builders import a_case, a_turn, dialogue
from tests.fakes import done, sending
from tests.replies import TOO_COLD, Stage, stage

SAID = (sending("coucou Léo"), done(""), sending("coucou Léo !"), done(""))
HARD = a_case("tu vas bien ?", effort=Effort(replies=6, strong=3, answers=150))


def asked(on: Stage) -> list[tuple[str, str]]:
    return [(request.task.value, request.model.name) for request in on.heard]


async def test_a_hard_conversation_is_written_by_the_stronger_route_and_corrected_by_it() -> None:
    on = stage(*SAID, reviews=(TOO_COLD,))

    decision = await on.run(HARD)

    strong, review = ("reply_strong", "claude-sonnet-5-5"), ("review", "claude-haiku-5-5")
    assert asked(on) == [strong, strong, review, strong, strong, review]
    assert on.trace(decision, TraceKind.NOTE) == [
        {
            "note": "the stronger route writes",
            "why": "many_turns",
            "task": "reply_strong",
            "strong": "3 of the newest 200 answers",
        }
    ]
    assert {step.call.task for step in on.keep.steps} == {Task.REPLY_STRONG, Task.REVIEW}


async def test_beyond_the_share_the_trace_says_what_keeps_it_back() -> None:
    on = stage(*SAID[:2], REPLIQUE_LLM__STRONG_SHARE="0.01")

    decision = await on.run(HARD)

    assert {task for task, _ in asked(on)} == {"reply", "review"}
    (note,) = on.trace(decision, TraceKind.NOTE)
    assert (note["note"], note["why"]) == ("the stronger route is kept back: its share is used up", "many_turns")


async def test_a_run_ends_on_the_way_it_began() -> None:
    begun = stage(*SAID[:2])
    await begun.run(HARD)
    usual = stage(*SAID[:2])
    await usual.run(replace(HARD, effort=None))

    strong_on, usual_on = stage(SAID[1]), stage(SAID[1])
    await strong_on.run(replace(HARD, effort=None), begun.keep.resume(1))
    await usual_on.run(HARD, usual.keep.resume(1))

    assert asked(strong_on)[0] == ("reply_strong", "claude-sonnet-5-5")
    assert asked(usual_on)[0] == ("reply", "claude-haiku-5-5")


async def test_the_reply_after_an_offer_is_hard() -> None:
    offer = a_turn("9 € les photos", position=2, author=Author.AI, kind=BubbleKind.PAYMENT)
    talk = [*dialogue(newest=("coucou",)), offer, a_turn("à demain", position=3, author=Author.AI)]
    later = [*talk, a_turn("ok", position=4, answered=True), a_turn("super", position=5, author=Author.AI)]
    whys = []
    for turns in (talk, later):
        on = stage(*SAID[:2])
        case = a_case(turns=[*turns, a_turn("et alors ?", position=9)], effort=Effort())
        decision = await on.run(case)
        whys.append([note["why"] for note in on.trace(decision, TraceKind.NOTE)])

    assert whys == [["complex_booking"], []]
