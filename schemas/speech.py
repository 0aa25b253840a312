"""Spoken bubbles: whose voice, the audio that came of it, and the one way it can fail."""

import hashlib
import json
from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar, Self

from schemas.errors import Code

OGG_OPUS = "audio/ogg; codecs=opus"
MAX_CHARACTERS = 4_000
"""The longest text that every engine takes in one call."""


class Engine(StrEnum):
    ESPEAK = "espeak"
    KOKORO = "kokoro"
    OPENAI = "openai"
    ELEVENLABS = "elevenlabs"

    @property
    def built_in(self) -> bool:
        """Runs on this machine, with a voice that belongs to nobody: no consent record is needed."""
        return self in {Engine.ESPEAK, Engine.KOKORO}


@dataclass(frozen=True, slots=True)
class Voice:
    """`name` is the engine's own word for a voice; None: the engine's default for the language."""

    engine: Engine
    name: str | None = None

    @classmethod
    def parse(cls, text: str | None, default: Engine = Engine.ESPEAK) -> Self:
        """A persona's `voice`: `engine:name`, an engine, or a name of the default engine's; None is all default."""
        if not text:
            return cls(default)
        engine, colon, name = text.partition(":")
        if engine in set(Engine):
            return cls(Engine(engine), name or None)
        return cls(default, text) if not colon else cls._refuse(engine)

    @classmethod
    def _refuse(cls, engine: str) -> Self:
        known = ", ".join(Engine)
        raise SpeechFailed(f"no speech engine is called {engine[:40]!r}; there are {known}", retryable=False)

    def __str__(self) -> str:
        return self.engine if self.name is None else f"{self.engine}:{self.name}"


@dataclass(frozen=True, slots=True)
class Audio:
    """One spoken text as a whole file. It says in its own tags that a machine made it."""

    content: bytes
    duration_ms: int
    mime: str
    engine: Engine
    voice: str
    """The engine's word for the voice that was heard."""


@dataclass(frozen=True, slots=True)
class Recording:
    """A spoken text in the file store. `url` opens it without a key, for some days."""

    key: str
    url: str
    mime: str
    duration_ms: int
    transcript: str


class SpeechFailed(Exception):
    """No audio was made. The only error of a `Speech`; `sentence` never holds the text to be spoken.

    `retryable` says whether the same call may succeed later; `retry_after` is in seconds, as a provider asked.
    """

    code: ClassVar[Code] = Code.SPEECH

    def __init__(self, sentence: str, retryable: bool, retry_after: float | None = None) -> None:
        super().__init__(f"{self.code} {sentence}")
        self.sentence = sentence
        self.retryable = retryable
        self.retry_after = retry_after


def audio_key(engine: Engine, voice: str | None, language: str, text: str) -> str:
    """The same for the same words in the same voice, so that they are spoken and paid once: 64 hex digits."""
    words = json.dumps([engine, voice, language.lower(), text], ensure_ascii=True)
    return hashlib.sha256(words.encode()).hexdigest()
