"""Is the right part of a text said, by the right voice, under a key that is its own?"""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.speech import Engine, SpeechFailed, Voice, audio_key
from workers.adapters.speech.text import speakable
from workers.adapters.speech.voices import voice_names


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("Bonjour\n\nLéo", "Bonjour Léo"),
        ("😀 coucou 👩‍👩‍👧‍👦❤️!", "coucou !"),
        ("1️⃣ un", "un"),
        ("20 € à 5 % soit 2 × 10", "20 € à 5 % soit 2 × 10"),
        ("il fait 30 °C", "il fait 30 °C"),
        ("co\u00adopé\u200bration", "coopération"),
        ("\u202emerci\u202c", "merci"),
        ("nul\x00le", "nul le"),
        ("a\ud83db", "a b"),
        ("می\u200cروم", "می\u200cروم"),
        ("नमस्ते", "नमस्ते"),
        ("e\u0301te\u0301", "e\u0301te\u0301"),
    ],
)
def test_what_is_said(text: str, said: str) -> None:
    assert speakable(text) == said


@given(st.text(max_size=200))
def test_whatever_comes_it_is_said_or_refused_and_can_be_sent(text: str) -> None:
    try:
        said = speakable(text)
    except SpeechFailed:
        return
    assert said.encode()
    assert "\0" not in said


def test_a_text_longer_than_an_engine_takes_is_refused() -> None:
    with pytest.raises(SpeechFailed) as raised:
        speakable("a" * 4001)

    assert speakable("a" * 4000) == "a" * 4000
    assert (raised.value.sentence, raised.value.retryable) == (
        "4001 characters, at most 4000 are spoken at once", False,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("language", "text", "names"),
    [
        ("fr", "bonjour", ["fr"]),
        ("fr-CA", "bonjour", ["fr-ca", "fr"]),
        ("fr_BE", "bonjour", ["fr-be", "fr"]),
        ("en", "hello", ["en-us"]),
        ("en-AU", "hello", ["en-au", "en-us"]),
        ("en-GB", "hello", ["en"]),
        ("zh-TW", "你好", ["zh-tw", "cmn"]),
        ("no", "hei", ["nb"]),
        ("fr", "привет, как дела", ["ru"]),
        ("uk", "привіт", ["uk"]),
        ("fr", "12, 13", ["fr"]),
        ("fr", "Léo a dit שלום", ["fr"]),
    ],
)
def test_who_reads_it(language: str, text: str, names: list[str]) -> None:
    assert voice_names(language, text) == names


@pytest.mark.parametrize(
    ("name", "voice", "built_in"),
    [
        (None, Voice(Engine.ESPEAK), True),
        ("", Voice(Engine.ESPEAK), True),
        ("fr+f3", Voice(Engine.ESPEAK, "fr+f3"), True),
        ("kokoro", Voice(Engine.KOKORO), True),
        ("kokoro:calm", Voice(Engine.KOKORO, "calm"), True),
        ("elevenlabs:abc", Voice(Engine.ELEVENLABS, "abc"), False),
        ("openai:", Voice(Engine.OPENAI), False),
    ],
)
def test_how_a_persona_names_a_voice(name: str | None, voice: Voice, built_in: bool) -> None:
    assert (Voice.parse(name), Voice.parse(name).engine.built_in) == (voice, built_in)


def test_a_key_is_the_same_for_the_same_words_in_the_same_voice_alone() -> None:
    spoken = (Engine.ESPEAK, "fr", "fr-FR", "bonjour")
    others = [
        (Engine.KOKORO, "fr", "fr-FR", "bonjour"),
        (Engine.ESPEAK, "fr+f3", "fr-FR", "bonjour"),
        (Engine.ESPEAK, None, "fr-FR", "bonjour"),
        (Engine.ESPEAK, "fr", "en", "bonjour"),
        (Engine.ESPEAK, "fr", "fr-FR", "Bonjour"),
        (Engine.ESPEAK, "frfr-FR", "", "bonjour"),
    ]

    keys = {audio_key(*other) for other in [spoken, *others]}

    assert len(keys) == 1 + len(others)
    assert audio_key(*spoken) == "a831ceaf7c548a8c704b00e589477786de934e7ec69f092578665fbb485a01cf"
