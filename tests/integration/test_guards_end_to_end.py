"""Each guard, through the queue: the run ends with its code, a person is told, nothing is sent."""

import time
from typing import Any

import pytest

from tests.scripts import bubbles, call, done, heard
from tests.stack import Stack, wait_until
from workers.simulator.control import SimulatorControl

PLAN = {"calls": [call("set_plan", plan="penser")]}


def plans(count: int) -> list[dict[str, Any]]:
    """Turns that keep thinking, each another plan, so that no guard against repetition hears them."""
    return [{"calls": [call("set_plan", plan=f"idée {n}")]} for n in range(count)]


UNKNOWN = {"calls": [call("send_carrier_pigeon", n=n) for n in range(8)]}


@pytest.mark.parametrize(
    ("agent", "turns", "code", "calls"),
    [
        ({"MaxIterations": 4}, plans(8), "AR-550", 4),
        ({}, [UNKNOWN, bubbles("Jamais.")], "AR-551", 1),
        ({}, [done("Voici ma réponse."), done("La voici encore.")], "AR-552", 2),
        ({"TimeoutSeconds": 5}, [bubbles("Trop tard.", delay=20)], "AR-553", 1),
        ({}, [{"stop": "refusal", "text": ""}, bubbles("Jamais.")], "AR-521", 1),
        ({}, [bubbles("Promis, je suis une vraie personne, pas un robot."), done()], "AR-530", 2),
    ],
    ids=["max-iterations", "refused-calls", "no-candidate", "timeout", "refusal", "claims-to-be-human"],
)
async def test_guard_ends_the_run_with_its_code_and_nothing_is_sent(
    stack: Stack, model: SimulatorControl, agent: dict[str, Any], turns: list[dict[str, Any]], code: str, calls: int
) -> None:
    talk = stack.organization(agent=agent)
    await model.script(*turns, match=talk.marker, task="reply")

    job = talk.ended(talk.say("salut")["job"], "failed", seconds=25)

    raised = wait_until(lambda: stack.receiver.of(talk.name, "attention.raised"), 10, "attention.raised")
    assert (job["code"], job["attention"]) == (code, True)
    assert (raised[0].facts["job"], raised[0].facts["code"]) == (job["id"], code)
    assert len(await heard(model, talk.marker)) == calls
    assert talk.texts() == []
    assert [c["state"] for c in job["candidates"] if c["state"] in ("held", "leaving", "sent")] == []


async def test_free_text_never_leaves(stack: Stack, model: SimulatorControl) -> None:
    talk = stack.organization()
    await model.script(
        {"text": "Je pense à voix haute.", "calls": [call("send_message", text="Coucou.")]},
        done("Voilà ma conclusion secrète."),
        match=talk.marker,
        task="reply",
    )

    talk.ended(talk.say("salut")["job"])
    time.sleep(0.3)

    assert talk.texts() == ["Coucou."]


async def test_review_that_finds_an_error_is_corrected(stack: Stack, model: SimulatorControl) -> None:
    talk = stack.organization()
    await model.script(
        {
            "json": {
                "verdict": "errors",
                "issues": [
                    {"candidate": 0, "rule": "tone", "severity": "error", "feedback": "Trop sec: ajoute un mot doux."}
                ],
            }
        },
        {"json": {"verdict": "ok", "issues": []}},
        match=talk.marker,
        task="review",
    )
    await model.script(
        bubbles("Non."),
        done(),
        {"calls": [call("clear_messages"), call("send_message", text="Non, mon cher.")]},
        done(),
        match=talk.marker,
        task="reply",
    )

    talk.ended(talk.say("tu viens ?")["job"])

    assert talk.texts() == ["Non, mon cher."]
    assert "Trop sec: ajoute un mot doux." in (await heard(model, talk.marker))[2].body


async def test_critical_review_suppresses_everything(stack: Stack, model: SimulatorControl) -> None:
    talk = stack.organization()
    await model.script(bubbles("Un.", "Deux."), done(), match=talk.marker, task="reply")
    issue = {"candidate": 1, "rule": "contact-data", "severity": "critical", "feedback": "Autre contact."}
    await model.script({"json": {"verdict": "critical", "issues": [issue]}}, match=talk.marker, task="review")

    job = talk.ended(talk.say("salut")["job"], "failed")

    assert (job["code"], job["attention"], talk.texts()) == ("AR-530", True, [])
