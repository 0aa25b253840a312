"""The agent asks for a voice, the contact's app gets a link, and the link plays: every process is the real one."""

import io
from typing import Any

import httpx2
import numpy as np
import pytest
import soundfile

from tests.scripts import bubbles, call, done
from tests.stack import Stack
from workers.simulator.control import SimulatorControl

WORDS = "Coucou Léo, je suis contente que tu me demandes de mes nouvelles aujourd'hui."


def heard(url: str) -> tuple[httpx2.Response, float, float]:
    """The answer to the link, without any key; seconds and level of the sound."""
    answer = httpx2.get(url, timeout=10)
    samples, rate = soundfile.read(io.BytesIO(answer.content))
    return answer, len(samples) / rate, float(np.sqrt(np.mean(samples**2)))


async def test_a_voice_is_drafted_spoken_delivered_and_heard(stack: Stack, model: SimulatorControl) -> None:
    talk = stack.organization()
    turn: dict[str, Any] = {"calls": [call("send_message", text="Écoute :"), call("send_vocal", text=WORDS)]}
    await model.script(turn, done(), match=talk.marker, task="reply")

    job = talk.ended(talk.say("fais-moi un vocal")["job"])

    text, voice = stack.receiver.applied(talk.name)
    answer, seconds, level = heard(voice["audio"]["url"])
    assert [(bubble["kind"], bubble["text"]) for bubble in (text, voice)] == [("text", "Écoute :"), ("voice", WORDS)]
    assert (answer.status_code, answer.headers["content-type"]) == (200, "audio/ogg; codecs=opus")
    assert voice["audio"]["duration_ms"] / 1000 == pytest.approx(seconds, rel=0.1)
    assert (seconds > 2, level > 0.02) == (True, True)
    assert [candidate["audio"] and {**candidate["audio"], "url": ""} for candidate in job["candidates"]] == [
        None,
        {**voice["audio"], "url": ""},
    ]
    assert voice["ai_generated"] is True


async def test_the_agent_is_told_when_the_days_voices_are_used_up(stack: Stack, model: SimulatorControl) -> None:
    talk = stack.organization(limits={"max_vocal_per_day": 1})
    first: dict[str, Any] = {"calls": [call("send_vocal", text="Bonne nuit.")]}
    second: dict[str, Any] = {"calls": [call("send_vocal", text="Dors bien.")]}
    await model.script(first, done(), second, bubbles("À demain"), done(), match=talk.marker, task="reply")

    talk.ended(talk.say("un vocal ?")["job"])
    job = talk.ended(talk.say("encore un ?")["job"])

    refused = [item for item in job["trace"] if item.get("tool") == "send_vocal"]
    assert [(item["refused"], item["reason"]) for item in refused] == [
        (
            True,
            "1 voice bubbles a day are the most for one contact, and that is reached. Use send_message. "
            "The bubble was not queued.",
        )
    ]
    assert [bubble["kind"] for bubble in stack.receiver.applied(talk.name)] == ["voice", "text"]


async def test_no_file_is_made_for_a_reply_that_was_cancelled(stack: Stack, model: SimulatorControl) -> None:
    talk = stack.organization(control_window_seconds=30)
    before = set(stack.logs.rglob("*.ogg"))
    turn: dict[str, Any] = {"calls": [call("send_vocal", text=f"Jamais dit {talk.name}.")]}
    await model.script(turn, done(), match=talk.marker, task="reply")

    held = talk.reaches(talk.say("un vocal ?")["job"], "held")
    talk.call("POST", f"/v1/jobs/{held['id']}/cancel", status=200)
    ended = talk.ended(held["id"], "cancelled")

    assert [candidate["state"] for candidate in ended["candidates"]] == ["recalled"]
    assert set(stack.logs.rglob("*.ogg")) == before
