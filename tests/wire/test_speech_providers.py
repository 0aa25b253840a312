"""Which bytes go to the providers of speech, and what is made of each way they can answer?"""

import asyncio
import io
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import httpx2
import pytest
import soundfile

from pipelines.ports import Speech
from schemas.speech import OGG_OPUS, Engine, SpeechFailed
from workers.adapters.speech import ogg
from workers.adapters.speech.built_in import BuiltInSpeech
from workers.adapters.speech.choice import SpeechByVoice
from workers.adapters.speech.elevenlabs import ElevenLabsSpeech
from workers.adapters.speech.openai import OpenAISpeech

TEXT = "Coucou Léo, on se voit ce soir ?"
SECRET_TEXT = "rendez-vous au 12 rue des Lilas"


class FixedClock:
    def now(self) -> datetime:
        return datetime(2026, 11, 30, 10, 0, tzinfo=UTC)

    def monotonic(self) -> float:
        return 0.0


@dataclass(frozen=True)
class Heard:
    line: str
    headers: dict[str, str]
    body: dict[str, Any]


@dataclass
class Provider:
    """A server on a real socket; `answer` writes whatever the test wants to come back."""

    answer: Callable[[asyncio.StreamWriter], Awaitable[None]]
    heard: list[Heard] = field(default_factory=list)
    base_url: str = ""

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
            headers = dict(line.lower().split(": ", 1) for line in head[1:] if line)
            body = await reader.readexactly(int(headers["content-length"]))
            self.heard.append(Heard(head[0], headers, json.loads(body)))
            await self.answer(writer)
            await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()


def whole(status: int, body: bytes, mime: str, **headers: str) -> Callable[[asyncio.StreamWriter], Awaitable[None]]:
    lines = [f"HTTP/1.1 {status} Status", f"Content-Type: {mime}", f"Content-Length: {len(body)}", "Connection: close"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]

    async def answer(writer: asyncio.StreamWriter) -> None:
        writer.write("\r\n".join(lines).encode() + b"\r\n\r\n" + body)

    return answer


def refusal(status: int, body: dict[str, Any], **headers: str) -> Callable[[asyncio.StreamWriter], Awaitable[None]]:
    return whole(status, json.dumps(body).encode(), "application/json", **headers)


async def silence(writer: asyncio.StreamWriter) -> None:
    await asyncio.sleep(30)


def cut(body: bytes) -> Callable[[asyncio.StreamWriter], Awaitable[None]]:
    async def answer(writer: asyncio.StreamWriter) -> None:
        writer.write(f"HTTP/1.1 200 OK\r\nContent-Type: audio/ogg\r\nContent-Length: {len(body)}\r\n\r\n".encode())
        writer.write(body[: len(body) // 2])

    return answer


def cut_in_chunks(body: bytes) -> Callable[[asyncio.StreamWriter], Awaitable[None]]:
    async def answer(writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: audio/ogg\r\nTransfer-Encoding: chunked\r\n\r\n")
        writer.write(f"{len(body) // 2:x}\r\n".encode() + body[: len(body) // 2] + b"\r\n")

    return answer


async def trickle(writer: asyncio.StreamWriter) -> None:
    """Alive all the time, and never done."""
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: audio/ogg\r\nContent-Length: 100000\r\n\r\n")
    while True:
        writer.write(b"O")
        await writer.drain()
        await asyncio.sleep(0.05)


@asynccontextmanager
async def provider(answer: Callable[[asyncio.StreamWriter], Awaitable[None]]) -> AsyncIterator[Provider]:
    made = Provider(answer)
    tasks: set[asyncio.Task[None]] = set()

    def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        tasks.add(asyncio.get_running_loop().create_task(made.serve(reader, writer)))

    server = await asyncio.start_server(connected, "127.0.0.1", 0)
    made.base_url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
    try:
        yield made
    finally:
        server.close()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


Maker = Callable[[httpx2.AsyncClient, str, float], Speech]


def openai(client: httpx2.AsyncClient, base_url: str, timeout: float) -> Speech:
    return OpenAISpeech(client, FixedClock(), "sk-test", base_url, "gpt-4o-mini-tts", timeout)


def elevenlabs(client: httpx2.AsyncClient, base_url: str, timeout: float) -> Speech:
    return ElevenLabsSpeech(client, FixedClock(), "xi-test", base_url, "eleven_multilingual_v2", timeout)


BOTH = pytest.mark.parametrize("make", [openai, elevenlabs])


@pytest.fixture(scope="module")
def spoken() -> bytes:
    """A file with a voice in it, as a provider would send one."""

    async def say() -> bytes:
        speech = BuiltInSpeech(FixedClock())
        try:
            return (await speech.say(TEXT, None, "fr")).content
        finally:
            await speech.close()

    return asyncio.run(say())


async def failed(
    make: Maker, answer: Callable[[asyncio.StreamWriter], Awaitable[None]], patience: float = 20.0
) -> SpeechFailed:
    async with provider(answer) as server, httpx2.AsyncClient() as client:
        with pytest.raises(SpeechFailed) as raised:
            await make(client, server.base_url, patience).say(SECRET_TEXT, "v0ice", "fr")
    assert "Lilas" not in str(raised.value)
    return raised.value


@BOTH
async def test_the_file_is_timed_and_marked_and_sounds_as_it_came(make: Maker, spoken: bytes) -> None:
    async with provider(whole(200, spoken, "audio/ogg")) as server, httpx2.AsyncClient() as client:
        audio = await make(client, server.base_url, 10.0).say(TEXT, "v0ice", "fr-FR")

    before, rate = soundfile.read(io.BytesIO(spoken))
    after, _ = soundfile.read(io.BytesIO(audio.content))
    engine = Engine.OPENAI if make is openai else Engine.ELEVENLABS
    assert (audio.engine, audio.voice, audio.mime) == (engine, "v0ice", OGG_OPUS)
    assert audio.duration_ms == pytest.approx(len(before) / rate * 1000, abs=1)
    assert (before == after).all()
    assert ogg.read_tags(audio.content) == {
        "ai_generated": "true",
        "ai_engine": str(engine),
        "ai_voice": "v0ice",
        "made_at": "2026-11-30T10:00:00+00:00",
        "comment": "Synthetic speech, made by a machine.",
    }


async def test_what_openai_is_asked(spoken: bytes) -> None:
    async with provider(whole(200, spoken, "audio/ogg")) as server, httpx2.AsyncClient() as client:
        await openai(client, server.base_url, 10.0).say("Coucou 😀", None, "fr")

    (heard,) = server.heard
    assert heard.line == "POST /v1/audio/speech HTTP/1.1"
    assert heard.headers["authorization"] == "bearer sk-test"
    assert heard.body == {"model": "gpt-4o-mini-tts", "voice": "alloy", "input": "Coucou", "response_format": "opus"}


@pytest.mark.parametrize(
    ("model", "told"),
    [("eleven_multilingual_v2", {}), ("eleven_flash_v2_5", {"language_code": "fr"})],
)
async def test_what_elevenlabs_is_asked(spoken: bytes, model: str, told: dict[str, str]) -> None:
    async with provider(whole(200, spoken, "audio/ogg")) as server, httpx2.AsyncClient() as client:
        speech = ElevenLabsSpeech(client, FixedClock(), "xi-test", server.base_url, model)
        await speech.say("Coucou", "v0ice", "fr-CA")

    (heard,) = server.heard
    assert heard.line == "POST /v1/text-to-speech/v0ice?output_format=opus_48000_32 HTTP/1.1"
    assert heard.headers["xi-api-key"] == "xi-test"
    assert heard.body == {"text": "Coucou", "model_id": model} | told


@pytest.mark.parametrize("voice", [None, "", "../admin", "a/b?x=1", "a" * 65])
async def test_elevenlabs_has_no_default_voice_and_no_voice_that_is_a_path(voice: str | None) -> None:
    async with provider(silence) as server, httpx2.AsyncClient() as client:
        with pytest.raises(SpeechFailed) as raised:
            await elevenlabs(client, server.base_url, 1.0).say(TEXT, voice, "fr")

    assert (raised.value.retryable, server.heard) == (False, [])


@BOTH
async def test_empty_text_is_not_sent(make: Maker) -> None:
    async with provider(silence) as server, httpx2.AsyncClient() as client:
        with pytest.raises(SpeechFailed) as raised:
            await make(client, server.base_url, 1.0).say(" 😀 ", "v0ice", "fr")

    assert (raised.value.retryable, server.heard) == (False, [])


@BOTH
@pytest.mark.parametrize(
    ("status", "body", "headers", "expected"),
    [
        (400, {"error": {"message": SECRET_TEXT, "code": "invalid_voice"}}, {}, ("400, invalid_voice", False, None)),
        (401, {"error": {"message": "bad key", "code": "invalid_api_key"}}, {}, ("401, invalid_api_key", False, None)),
        (401, {"detail": {"status": "quota_exceeded", "message": "0"}}, {}, ("401, quota_exceeded", False, None)),
        (422, {"detail": [{"msg": SECRET_TEXT}]}, {}, ("422", False, None)),
        (429, {"error": {"code": SECRET_TEXT}}, {"Retry_After": "7"}, ("429", True, 7.0)),
        (429, {"error": {"type": "insufficient_quota"}}, {}, ("429, insufficient_quota", False, None)),
        (429, {"detail": {"status": "too_many_concurrent_requests"}}, {"Retry_After": "soon"},
         ("429, too_many_concurrent_requests", True, None)),
        (500, {"error": None}, {}, ("500", True, None)),
        (503, ["odd"], {"Retry_After": "0.5"}, ("503", True, 0.5)),
    ],
)  # fmt: skip
async def test_a_refusal_says_whether_to_come_back(
    make: Maker, status: int, body: Any, headers: dict[str, str], expected: tuple[str, bool, float | None]
) -> None:
    error = await failed(make, refusal(status, body, **headers))

    words, retryable, retry_after = expected
    name = "openai" if make is openai else "elevenlabs"
    assert (error.sentence, error.retryable, error.retry_after) == (f"{name} answered {words}", retryable, retry_after)


@BOTH
@pytest.mark.parametrize("slow", [silence, trickle])
async def test_a_provider_that_takes_too_long_is_left(
    make: Maker, slow: Callable[[asyncio.StreamWriter], Awaitable[None]]
) -> None:
    error = await failed(make, slow, patience=1.0)

    assert (error.sentence.split(" ", 1)[1], error.retryable) == ("did not answer within 1 s", True)


@BOTH
@pytest.mark.parametrize("cutting", [cut, cut_in_chunks])
async def test_half_a_file_is_no_file(make: Maker, cutting: Any, spoken: bytes) -> None:
    error = await failed(make, cutting(spoken))

    assert (error.sentence.split(" ", 1)[1], error.retryable) == (
        "was not heard to the end (RemoteProtocolError)", True,
    )  # fmt: skip


@BOTH
async def test_nobody_there_is_worth_another_try(make: Maker) -> None:
    async with httpx2.AsyncClient() as client:
        with pytest.raises(SpeechFailed) as raised:
            await make(client, "http://127.0.0.1:1/v1", 5.0).say(TEXT, "v0ice", "fr")

    assert raised.value.retryable


@BOTH
@pytest.mark.parametrize("body", [b"", b"<html>maintenance</html>", b"ID3 an mp3 after all"])
async def test_a_good_status_without_a_sound_file_is_seen(make: Maker, body: bytes) -> None:
    error = await failed(make, whole(200, body, "audio/ogg"))

    assert "not a whole Ogg/Opus file" in error.sentence
    assert error.retryable


async def test_a_flood_is_not_taken_in(spoken: bytes) -> None:
    error = await failed(openai, whole(200, bytes(21 * 1024 * 1024), "audio/ogg"))

    assert (error.sentence, error.retryable) == ("openai answered more than 20 MB", False)


async def test_the_persona_s_voice_picks_the_engine(spoken: bytes) -> None:
    async with provider(whole(200, spoken, "audio/ogg")) as server, httpx2.AsyncClient() as client:
        made = {Engine.OPENAI: openai(client, server.base_url, 10.0)}
        speech = SpeechByVoice(made, default=Engine.OPENAI)
        voices = [(await speech.say(TEXT, voice, "fr")).voice for voice in (None, "nova", "openai:echo", "openai")]
        refused = []
        for voice in ("espeak:fr", "espeak", "siri:fr"):
            with pytest.raises(SpeechFailed) as raised:
                await speech.say(TEXT, voice, "fr")
            refused.append((raised.value.sentence, raised.value.retryable))

    assert voices == ["alloy", "nova", "echo", "alloy"]
    assert refused == [
        ("the engine espeak is not set up here", False),
        ("the engine espeak is not set up here", False),
        ("no speech engine is called 'siri'; there are espeak, kokoro, openai, elevenlabs", False),
    ]
