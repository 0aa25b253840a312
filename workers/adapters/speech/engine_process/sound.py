"""Samples as engines make them, and the Ogg/Opus file made of them."""

import io
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import soundfile
from numpy.typing import NDArray

OPUS_RATE = 24_000
"""Opus takes 8, 12, 16, 24 or 48 kHz; speech holds nothing above 12 kHz that a phone would play."""
FILTER_TAPS = 32
AUDIBLE = 0.003
"""RMS below which a whole text counts as silence; speech lies around 0.08."""


class UnknownVoice(Exception):
    def __init__(self, voices: Sequence[str]) -> None:
        named = ", ".join(voice[:40] for voice in voices[:4])
        super().__init__(f"this engine has no voice {named}")


class NothingHeard(Exception):
    """The engine ran and made no sound."""


@dataclass(frozen=True, slots=True)
class Sound:
    """Mono samples between -1 and 1."""

    samples: NDArray[np.float32]
    rate: int
    voice: str


class SpeechEngine(Protocol):
    def say(self, text: str, voices: Sequence[str], language: str) -> Sound:
        """Raises `UnknownVoice` and `NothingHeard`."""
        ...


def encoded(sound: Sound) -> tuple[bytes, int]:
    """An Ogg/Opus file and its length in ms, from the samples themselves. Raises `NothingHeard`."""
    samples = resampled(sound.samples, sound.rate, OPUS_RATE)
    if len(samples) == 0 or float(np.sqrt(np.mean(samples**2))) < AUDIBLE:
        raise NothingHeard("there is nothing to hear in this text")
    file = io.BytesIO()
    # The encoder overshoots a little; a peak at full scale would crackle.
    soundfile.write(file, np.clip(samples, -0.98, 0.98), OPUS_RATE, format="OGG", subtype="OPUS")
    return file.getvalue(), round(len(samples) * 1000 / OPUS_RATE)


def resampled(samples: NDArray[np.float32], rate: int, to: int) -> NDArray[np.float32]:
    """The same sound at another rate, through a windowed sinc: no whistle of frequencies folded back."""
    if rate == to or len(samples) == 0:
        return samples
    up, down = to // math.gcd(rate, to), rate // math.gcd(rate, to)
    cut = min(1.0, to / rate)
    reach = math.ceil(FILTER_TAPS / 2 / cut)
    count = len(samples) * up // down
    padded = np.pad(samples, (reach, reach + 1))
    out = np.empty(count, dtype=np.float32)
    # Each of the `up` phases is one fixed filter, run over its own share of the output.
    for phase in range(min(up, count)):
        shift = phase * down % up / up
        offsets = np.arange(-reach + 1, reach + 1) - shift
        window = 0.5 + 0.5 * np.cos(np.pi * np.clip(offsets / reach, -1, 1))
        taps = (np.sinc(offsets * cut) * cut * window).astype(np.float32)
        starts = np.arange(phase, count, up) * down // up + 1
        out[phase::up] = np.lib.stride_tricks.sliding_window_view(padded, 2 * reach)[starts] @ taps
    return out
