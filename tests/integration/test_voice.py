"""A voice bubble is heard: real transitions, the real actor, the real engine, real files; only the receiver is ours."""

import asyncio
import io
import json
import os
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile

from pipelines.delivery.speech import Recordings
from schemas.claims import Accepted, Endpoint, Posted
from schemas.conversation import BubbleKind
from schemas.decisions import Bubble, Reply
from schemas.http import CandidatePatch
from schemas.jobs import DelayedSend
from schemas.settings import Settings
from schemas.speech import Audio, Engine, SpeechFailed
from tests.builders_storage import Storage, a_storage
from tests.fakes_courier import MemoryCourier, ScriptedReplies
from workers.actors.delayed_send import delayed_send
from workers.adapters.clock import SystemClock
from workers.adapters.files.address import open_files
from workers.adapters.files.links import FileLinks
from workers.adapters.files.signed import SignedFiles
from workers.adapters.speech import ogg
from workers.adapters.speech.build import milliseconds
from workers.adapters.speech.built_in import BuiltInSpeech
from workers.adapters.speech.choice import SpeechByVoice
from workers.bootstrap import App
from workers.runtime.leases import Leases

FRENCH = {"language": "fr"}
WORDS = "Coucou Léo, je pensais justement à toi en buvant mon café ce matin."
OTHER = "Bonne nuit."
SPEECH_RMS = 0.02
SECRET = "a secret of the tests, long enough"


@dataclass
class Heard:
    """A receiver that keeps what it accepted."""

    bodies: list[dict[str, Any]] = field(default_factory=list)

    async def post(self, endpoint: Endpoint | None, webhook_id: str, body: str) -> Posted:
        self.bodies.append(json.loads(body))
        return Accepted()

    @property
    def bubbles(self) -> list[dict[str, Any]]:
        return [body["data"] for body in self.bodies if body["type"] == "message.send"]


class Interrupted:
    """A speech engine that lets a test act before each text is spoken."""

    def __init__(self, engine: BuiltInSpeech) -> None:
        self.engine = engine
        self.said: list[str] = []
        self.before: list[Any] = []
        """What is awaited before each text, the next first."""

    async def say(self, text: str, voice: str | None, language: str) -> Audio:
        self.said.append(text)
        if self.before:
            await self.before.pop(0)()
        return await SpeechByVoice({Engine.ESPEAK: self.engine}).say(text, voice, language)


@dataclass
class Scene:
    storage: Storage
    app: App
    heard: Heard
    speech: Interrupted
    folder: Path

    async def hold(self, *bubbles: tuple[BubbleKind, str]) -> None:
        await self.storage.say()
        reply = Reply(tuple(Bubble(kind, text) for kind, text in bubbles))
        await self.storage.transitions.record(await self.storage.claim(), reply)

    async def send(self) -> None:
        """What the queue does with the newest job's hint, once it is due."""
        await self.storage.make_due()
        job = await self.storage.job()
        await delayed_send(DelayedSend(conversation=job["conversation_id"], job=job["id"]), self.app)

    def files(self) -> list[Path]:
        return sorted(self.folder.glob("org_*/speech/*.ogg"))

    def audio(self, bubble: dict[str, Any]) -> bytes:
        """Of a delivered bubble: the file its link names."""
        name = bubble["audio"]["url"].partition("?")[0].rpartition("/")[2]
        return (self.folder / name.replace("~", "/")).read_bytes()


@asynccontextmanager
async def a_scene(database_url: str, folder: Path, **persona: Any) -> AsyncIterator[Scene]:
    clock = SystemClock()
    engine = BuiltInSpeech(clock)
    speech, heard = Interrupted(engine), Heard()

    async def secret() -> str:
        return SECRET

    files = open_files(str(folder))
    recordings = Recordings(speech, files, SignedFiles(files, secret, "http://it", clock), milliseconds)
    async with a_storage(database_url, FRENCH | persona) as storage:
        leases = Leases(storage.transitions.renew, 1)
        app = App(Settings(), clock, storage.transitions, ScriptedReplies(), recordings, heard, MemoryCourier(), leases)
        try:
            yield Scene(storage, app, heard, speech, folder)
        finally:
            await engine.close()


async def test_a_voice_bubble_arrives_after_the_text_before_it_and_is_heard(database_url: str, tmp_path: Path) -> None:
    async with a_scene(database_url, tmp_path) as scene:
        await scene.hold((BubbleKind.TEXT, "salut"), (BubbleKind.VOICE, WORDS))
        await scene.send()
        nothing_yet = scene.files()
        await scene.send()

        text, voice = scene.heard.bubbles
        samples, rate = soundfile.read(io.BytesIO(scene.audio(voice)))
        seconds, level = len(samples) / rate, float(np.sqrt(np.mean(samples**2)))
        assert (nothing_yet, text["text"], text["audio"], voice["kind"], voice["text"]) == (
            [],
            "salut",
            None,
            "voice",
            WORDS,
        )
        assert voice["audio"]["duration_ms"] / 1000 == pytest.approx(seconds, rel=0.1)
        assert (seconds > 2, level > SPEECH_RMS) == (True, True)
        assert (voice["audio"]["mime"], voice["audio"]["transcript"]) == ("audio/ogg; codecs=opus", WORDS)
        assert ogg.read_tags(scene.audio(voice))["ai_generated"] == "true"
        assert (await scene.storage.job())["state"] == "sent"


async def test_the_same_words_are_spoken_once(database_url: str, tmp_path: Path) -> None:
    async with a_scene(database_url, tmp_path) as scene:
        await scene.hold((BubbleKind.VOICE, OTHER), (BubbleKind.VOICE, OTHER))
        await scene.send()
        await scene.send()

        first, second = scene.heard.bubbles
        assert (scene.speech.said, len(scene.files())) == ([OTHER], 1)
        assert first["audio"]["duration_ms"] == second["audio"]["duration_ms"]


async def test_nothing_is_spoken_for_a_cancelled_reply(database_url: str, tmp_path: Path) -> None:
    async with a_scene(database_url, tmp_path) as scene:
        await scene.hold((BubbleKind.VOICE, WORDS))
        await scene.storage.transitions.cancel(scene.storage.org, (await scene.storage.job())["id"], "zoe")
        await scene.send()

        assert (scene.speech.said, scene.files(), scene.heard.bubbles) == ([], [], [])


async def test_what_is_edited_while_it_is_spoken_is_spoken_as_edited(database_url: str, tmp_path: Path) -> None:
    async with a_scene(database_url, tmp_path) as scene:

        async def edit() -> None:
            bubble = (await scene.storage.row("SELECT id FROM candidates"))["id"]
            patch = CandidatePatch(text=OTHER)
            await scene.storage.transitions.edit_candidate(scene.storage.org, bubble, patch, "zoe")

        scene.speech.before = [edit]
        await scene.hold((BubbleKind.VOICE, WORDS))
        await scene.send()
        early = list(scene.heard.bubbles)
        await scene.send()

        (voice,) = scene.heard.bubbles
        assert (early, scene.speech.said) == ([], [WORDS, OTHER])
        assert (voice["text"], voice["audio"]["transcript"]) == (OTHER, OTHER)
        assert voice["audio"]["duration_ms"] < 2000


async def test_a_message_that_comes_while_it_is_spoken_recalls_it(database_url: str, tmp_path: Path) -> None:
    async with a_scene(database_url, tmp_path) as scene:

        async def write() -> None:
            await scene.storage.say("m-2")

        scene.speech.before = [write]
        await scene.hold((BubbleKind.VOICE, WORDS))
        await scene.send()

        states = [row["state"] for row in await scene.storage.rows("SELECT state FROM jobs ORDER BY id")]
        assert (scene.heard.bubbles, states) == ([], ["superseded", "queued"])


async def test_an_engine_killed_in_the_middle_speaks_again(database_url: str, tmp_path: Path) -> None:
    async with a_scene(database_url, tmp_path) as scene:
        await scene.speech.engine.say("prête", None, "fr")
        pid = scene.speech.engine.processes[0].pid
        assert pid is not None
        os.kill(pid, signal.SIGSTOP)

        async def kill_soon() -> None:
            asyncio.get_running_loop().call_later(0.3, os.kill, pid, signal.SIGKILL)

        scene.speech.before = [kill_soon]
        await scene.hold((BubbleKind.VOICE, WORDS))
        await scene.send()
        job = await scene.storage.job()
        await scene.send()

        assert (job["state"], job["tries"], job["due_at"] is not None) == ("sending", 1, True)
        assert [bubble["text"] for bubble in scene.heard.bubbles] == [WORDS]
        assert scene.speech.said == [WORDS, WORDS]


async def test_three_failures_wait_for_a_person_whose_approval_tries_again(database_url: str, tmp_path: Path) -> None:
    async def fail() -> None:
        raise SpeechFailed("the engine espeak died while it spoke", retryable=True)

    async with a_scene(database_url, tmp_path) as scene:
        scene.speech.before = [fail, fail, fail]
        await scene.hold((BubbleKind.TEXT, "salut"), (BubbleKind.VOICE, WORDS))
        for _ in range(5):
            await scene.send()
        job = await scene.storage.job()
        asked = list(scene.speech.said)
        await scene.storage.transitions.approve(scene.storage.org, job["id"], "zoe")
        await scene.send()

        assert (job["state"], job["code"], job["attention"], job["on_hold"], len(asked)) == (
            "held",
            "AR-561",
            "open",
            True,
            3,
        )
        assert [bubble["text"] for bubble in scene.heard.bubbles] == ["salut", WORDS]
        ended = await scene.storage.job()
        assert (ended["state"], ended["code"], ended["attention"]) == ("sent", None, None)


async def test_the_link_of_a_delivered_bubble_is_signed_for_seven_days(database_url: str, tmp_path: Path) -> None:
    async with a_scene(database_url, tmp_path) as scene:
        await scene.hold((BubbleKind.VOICE, OTHER))
        await scene.send()

        url = scene.heard.bubbles[0]["audio"]["url"]
        key = scene.files()[0].relative_to(tmp_path).as_posix()
        expires, signature = (part.partition("=")[2] for part in url.partition("?")[2].split("&"))
        assert url.startswith("http://it/v1/files/")
        assert FileLinks("http://it", SECRET).verify(key, expires, signature, SystemClock().now())
        assert int(expires) - SystemClock().now().timestamp() == pytest.approx(7 * 86_400, abs=60)
