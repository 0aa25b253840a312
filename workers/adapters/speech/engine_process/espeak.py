"""eSpeak NG through ctypes: the library and all its voices come in the wheel `espeakng-loader`."""

import ctypes
from collections.abc import Sequence
from pathlib import Path

import espeakng_loader
import numpy as np
from numpy.typing import NDArray

from workers.adapters.speech.engine_process.sound import NothingHeard, Sound, UnknownVoice

# Names and numbers of speak_lib.h.
AUDIO_OUTPUT_SYNCHRONOUS, INITIALIZE_DONT_EXIT = 2, 0x8000
CHARS_UTF8, POS_CHARACTER, PHONEMES_IPA = 1, 1, 0x02
RATE, PITCH = 1, 3
WORDS_PER_MINUTE, MEDIUM_PITCH = 165, 50

_Heard = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_short), ctypes.c_int, ctypes.c_void_p)


class Espeak:
    """The library keeps one voice and one text for a whole process: one call at a time."""

    def __init__(self) -> None:
        self._samples = bytearray()
        self._callback = _Heard(self._hear)  # kept, or the library calls into freed memory
        self._library = ctypes.CDLL(espeakng_loader.get_library_path())
        self._library.espeak_TextToPhonemes.restype = ctypes.c_char_p
        folder = str(Path(espeakng_loader.get_data_path()).parent).encode()
        self._rate = self._library.espeak_Initialize(AUDIO_OUTPUT_SYNCHRONOUS, 0, folder, INITIALIZE_DONT_EXIT)
        if self._rate <= 0:
            raise RuntimeError("eSpeak NG does not find its voices")
        self._library.espeak_SetSynthCallback(self._callback)

    def say(self, text: str, voices: Sequence[str], language: str) -> Sound:
        """Speak with the first of `voices` that exists. Raises `UnknownVoice`, `NothingHeard`."""
        voice = self.choose(voices)
        self._library.espeak_SetParameter(RATE, WORDS_PER_MINUTE, 0)
        self._library.espeak_SetParameter(PITCH, MEDIUM_PITCH, 0)
        self._samples.clear()
        words = text.encode() + b"\0"
        size = ctypes.c_size_t(len(words))
        if self._library.espeak_Synth(words, size, 0, POS_CHARACTER, 0, CHARS_UTF8, None, None) != 0:
            raise NothingHeard("eSpeak NG refuses this text")
        self._library.espeak_Synchronize()
        heard: NDArray[np.int16] = np.frombuffer(bytes(self._samples), dtype=np.int16)
        return Sound(heard.astype(np.float32) / np.float32(32768), self._rate, voice)

    def choose(self, voices: Sequence[str]) -> str:
        for voice in voices:
            if self._library.espeak_SetVoiceByName(voice.encode()) == 0:
                return voice
        raise UnknownVoice(voices)

    def phonemes(self, text: str, tie: str) -> str:
        """The text in the IPA, read by the voice last chosen; `tie` joins the letters of one sound."""
        start = ctypes.c_char_p(text.encode())
        rest = ctypes.pointer(start)
        mode = PHONEMES_IPA | (1 << 7) | (ord(tie) << 8)
        clauses = []
        while start.value:
            clauses.append((self._library.espeak_TextToPhonemes(rest, CHARS_UTF8, mode) or b"").decode())
        return " ".join(clauses)

    def _hear(self, samples: object, count: int, _events: object) -> int:
        if samples and count > 0:
            self._samples.extend(ctypes.string_at(samples, count * 2))  # type: ignore[arg-type]
        return 0


def load() -> Espeak:
    return Espeak()
