"""Each code that can stand on a job, through the queue; the table says which test shows those that are not here."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
import pytest

from schemas.errors import Code
from tests.builders_media import a_document
from tests.scripts import NOWHERE, bubbles, call, done
from tests.stack import Stack, Talk, wait_until
from workers.adapters.postgres.parking import MAX_TRIES
from workers.simulator.control import SimulatorControl

HERE = Path(__file__)
ROOT = HERE.parents[2]

NOWHERE_YET: set[Code] = set()
"""No line of the product gives these to a job so far."""
OF_HTTP = {code for code in Code if code < Code.NOTHING_TO_ANSWER}
SHOWN = {
    Code.NOTHING_TO_ANSWER: "test_message_to_reply.py",
    Code.MODELS_FAILED: HERE.name,
    Code.MODEL_REFUSED: "test_guards_end_to_end.py",
    Code.CRITICAL_REVIEW: HERE.name,
    Code.IDENTITY_QUESTION: HERE.name,
    Code.SAFETY_STOP: HERE.name,
    Code.QUOTA: "test_money_end_to_end.py",
    Code.BUDGET: "test_money_end_to_end.py",
    Code.MAX_ITERATIONS: "test_guards_end_to_end.py",
    Code.REFUSED_CALLS: "test_guards_end_to_end.py",
    Code.NO_CANDIDATE: "test_guards_end_to_end.py",
    Code.TIMEOUT: "test_guards_end_to_end.py",
    Code.DELIVERY: HERE.name,
    Code.SPEECH: HERE.name,
    Code.PAYMENT_LINK: HERE.name,
    Code.MEDIA: HERE.name,
    Code.QUEUE_MESSAGE: "test_processes.py",
    Code.POISON: "test_poison.py",
}
CONSENT = {"owner": "Maya D.", "given_at": "2026-11-01T10:00:00+01:00", "proof": "contract 12"}


@dataclass(frozen=True)
class Story:
    """`after` happens once the message is taken, `meanwhile` while the reply waits in its window; `ready` is what a
    person may still send."""

    says: str = "salut"
    answers: tuple[dict[str, Any], ...] = ()
    persona: dict[str, Any] | None = None
    organization: dict[str, Any] | None = None
    set_up: Callable[[Talk], None] = lambda talk: None
    after: Callable[[Talk], None] = lambda talk: None
    meanwhile: Callable[[Talk], None] | None = None
    state: str = "failed"
    reason: str | None = None
    ready: int = 0


def refuse(talk: Talk) -> None:
    talk.stack.receiver.answers[talk.name] = [400]


def tried_all_night(talk: Talk) -> None:
    """It was tried and waits; all but one of the tries that it has are counted as made."""
    last = (
        "UPDATE jobs SET tries = %s, due_at = clock_timestamp() WHERE state = 'queued' AND tries > 0"
        " AND conversation_id = (SELECT id FROM conversations WHERE name = %s)"
    )

    def moved() -> int:
        with psycopg.connect(talk.stack.environment["DATABASE_URL"]) as connection:
            return connection.execute(last, [MAX_TRIES - 1, talk.name]).rowcount

    wait_until(moved, 60, "its first try")


def on_the_shelf(**fields: Any) -> Callable[[Talk], None]:
    document = a_document("v-1", type="video", description="la plage", **fields)
    return lambda talk: talk.call("POST", "/v1/apply", json={"resources": [document]}, status=200)


STORIES = {
    Code.MODELS_FAILED: Story(
        organization={"models": {"reply": NOWHERE}},
        after=tried_all_night,
        reason="model_gone",
    ),
    Code.CRITICAL_REVIEW: Story(answers=(bubbles("Appelle le 06 99 88 77 66."), done()), reason="other_contact"),
    Code.IDENTITY_QUESTION: Story(says="t'es un bot ?", reason="asks_if_machine", ready=2),
    Code.SAFETY_STOP: Story(says="j'ai 15 ans", reason="minor_signal"),
    Code.DELIVERY: Story(answers=(bubbles("Un.", "Deux."), done()), set_up=refuse, reason="refused", ready=1),
    Code.PAYMENT_LINK: Story(
        answers=({"calls": [call("send_payment", media_ids=["v-1"], message="Pour toi")]}, done()),
        persona={"control_window_seconds": 1},
        set_up=on_the_shelf(price="10.00"),
        meanwhile=on_the_shelf(price=None),
        state="held",
        reason="not_for_sale",
        ready=1,
    ),
    Code.MEDIA: Story(
        answers=(
            {"calls": [call("get_media", kind="free")]},
            {"calls": [call("send_image", media_id="v-1"), call("send_message", text="Voilà.")]},
            done(),
        ),
        persona={"control_window_seconds": 1},
        set_up=on_the_shelf(price=None),
        meanwhile=on_the_shelf(price=None, consent_record=None),
        state="held",
        reason="media_not_sendable",
        ready=2,
    ),
    Code.SPEECH: Story(
        answers=({"calls": [call("send_vocal", text="Bonne nuit.")]}, done()),
        persona={"voice": "elevenlabs:21m00", "voice_consent_record": CONSENT},
        state="held",
        reason="speech_failed",
        ready=1,
    ),
}


@pytest.mark.parametrize("code", STORIES)
async def test_a_job_ends_with_its_code_and_a_person_is_told(stack: Stack, model: SimulatorControl, code: Code) -> None:
    story = STORIES[code]
    talk = stack.organization()
    stack.provision(talk.org, story.organization or {}, story.persona or {})
    story.set_up(talk)
    if story.answers:
        await model.script(*story.answers, match=talk.marker, task="reply")

    number = talk.say(story.says)["job"]
    story.after(talk)
    if story.meanwhile is not None:
        talk.reaches(number, "held", seconds=60)
        story.meanwhile(talk)
    raised = wait_until(lambda: stack.receiver.of(talk.name, "attention.raised"), 30, "attention.raised")
    job = talk.reaches(number, story.state)

    assert (job["code"], job["attention"], job["reason"]) == (code, True, story.reason)
    told = raised[0].facts
    assert (told["job"], told["code"], told["reason"]) == (number, code, story.reason)
    assert sum(candidate["state"] == "held" for candidate in job["candidates"]) == story.ready
    assert talk.texts() == []


def test_every_code_of_a_job_is_shown_by_a_test_through_the_queue() -> None:
    """That takes processes: the fixture `stack`, or a worker that the test starts itself."""
    tests = {code: (HERE.parent / name).read_text(encoding="utf-8") for code, name in SHOWN.items()}

    assert set(Code) == {*OF_HTTP, *NOWHERE_YET, *SHOWN}
    assert {code for code, name in SHOWN.items() if name == HERE.name} == set(STORIES)
    assert [code for code, text in tests.items() if code not in STORIES and code.value not in text] == []
    started = ("from tests.stack import", "import subprocess")
    assert [SHOWN[code] for code, text in tests.items() if not any(way in text for way in started)] == []


def test_what_is_said_to_be_nowhere_is_nowhere() -> None:
    """But in the table of what a person can do about it."""
    modules = [path for package in ("pipelines", "workers") for path in (ROOT / package).rglob("*.py")]
    text = "\n".join(path.read_text(encoding="utf-8") for path in modules if path.name != "ended.py")

    assert [code for code in NOWHERE_YET if f"Code.{code.name}" in text] == []
