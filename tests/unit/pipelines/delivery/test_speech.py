"""When a voice bubble is spoken, and when its file is there already."""

import asyncio
from dataclasses import dataclass, field
from typing import Any

import pytest

from pipelines.delivery.speech import Recordings
from schemas.claims import Preparing
from schemas.media import FileMissing, FileStream, FilesUnavailable, StoredFile
from schemas.speech import OGG_OPUS, Audio, Engine, Recording, SpeechFailed, audio_key
from tests.fakes_courier import a_preparing

FILE = b"900 ms of sound"


@dataclass
class MemoryFiles:
    kept: dict[str, StoredFile] = field(default_factory=dict)
    away: bool = False

    async def put(self, key: str, content: bytes, mime: str) -> None:
        self.kept[key] = StoredFile(content, mime)

    async def get(self, key: str) -> StoredFile:
        if self.away:
            raise FilesUnavailable("the file store did not do it (Timeout)")
        if key not in self.kept:
            raise FileMissing("no such file")
        return self.kept[key]

    async def stream(self, key: str) -> FileStream:
        raise NotImplementedError

    async def exists(self, key: str) -> bool:
        return key in self.kept

    async def delete(self, key: str) -> None:
        self.kept.pop(key, None)


@dataclass
class HeardSpeech:
    asked: list[tuple[str, str | None, str]] = field(default_factory=list)

    async def say(self, text: str, voice: str | None, language: str) -> Audio:
        self.asked.append((text, voice, language))
        await asyncio.sleep(0)
        return Audio(FILE, 900, OGG_OPUS, Engine.ESPEAK, "fr")


class PlainLinks:
    async def url(self, key: str) -> str:
        return f"http://it/{key}"


def measured(content: bytes) -> int | None:
    return 900 if content == FILE else None


@dataclass
class Studio:
    files: MemoryFiles = field(default_factory=MemoryFiles)
    speech: HeardSpeech = field(default_factory=HeardSpeech)
    default: Engine = Engine.ESPEAK

    async def record(self, **changes: Any) -> Recording:
        recordings = Recordings(self.speech, self.files, PlainLinks(), measured, self.default)
        return await recordings.of(a_bubble(**changes))


def a_bubble(**changes: Any) -> Preparing:
    return a_preparing(**changes)


def key(engine: Engine, voice: str | None, language: str, text: str) -> str:
    return f"org_1/speech/{audio_key(engine, voice, language, text)}.ogg"


async def test_the_same_words_in_the_same_voice_are_spoken_once() -> None:
    studio = Studio()

    first = await studio.record()
    second = await studio.record()

    name = key(Engine.ESPEAK, None, "fr", "coucou")
    assert first == second == Recording(name, f"http://it/{name}", OGG_OPUS, 900, "coucou")
    assert studio.speech.asked == [("coucou", "espeak", "fr")]
    assert studio.files.kept == {name: StoredFile(FILE, OGG_OPUS)}


async def test_the_same_words_at_once_are_spoken_once() -> None:
    studio = Studio()
    recordings = Recordings(studio.speech, studio.files, PlainLinks(), measured)

    first, second = await asyncio.gather(*(recordings.of(a_bubble()) for _ in range(2)))

    assert first == second
    assert studio.speech.asked == [("coucou", "espeak", "fr")]


@pytest.mark.parametrize(
    "other", [{"text": "salut"}, {"voice": "fr+f3"}, {"language": "de"}, {"org": 2}, {"voice": "kokoro"}]
)
async def test_other_words_voices_languages_and_organisations_have_their_own_file(other: dict[str, Any]) -> None:
    studio = Studio()

    await studio.record()
    await studio.record(**other)

    assert len(studio.files.kept) == len(studio.speech.asked) == 2


async def test_a_damaged_file_is_made_again() -> None:
    studio = Studio()
    name = key(Engine.ESPEAK, None, "fr", "coucou")
    await studio.files.put(name, b"", OGG_OPUS)

    recording = await studio.record()

    assert (recording.duration_ms, studio.files.kept[name].content) == (900, FILE)


async def test_a_store_that_is_away_is_a_failure_to_try_again() -> None:
    studio = Studio(files=MemoryFiles(away=True))

    with pytest.raises(SpeechFailed) as failed:
        await studio.record()

    assert (failed.value.retryable, failed.value.sentence) == (True, "the file store did not do it (Timeout)")


@pytest.mark.parametrize("default", [Engine.ESPEAK, Engine.OPENAI])
async def test_nobodys_voice_is_used_without_consent_on_record(default: Engine) -> None:
    studio = Studio(default=default)
    voice = "openai:nova" if default is Engine.ESPEAK else None

    with pytest.raises(SpeechFailed) as failed:
        await studio.record(voice=voice)
    allowed = await studio.record(voice=voice, consented=True)

    assert (failed.value.retryable, failed.value.sentence) == (
        False,
        "the voice openai:nova needs its owner's consent on record"
        if voice
        else "the voice openai needs its owner's consent on record",
    )
    assert allowed.duration_ms == 900
    assert len(studio.speech.asked) == 1
