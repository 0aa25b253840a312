"""Voice bubbles become audio once: the same words in the same voice are looked up, not spoken and paid again."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from weakref import WeakValueDictionary

from pipelines.ports import Files, Links, Speech
from schemas.claims import Preparing
from schemas.media import FileMissing, FilesUnavailable
from schemas.speech import OGG_OPUS, Engine, Recording, SpeechFailed, Voice, audio_key

Measure = Callable[[bytes], int | None]
"""How many milliseconds a whole file lasts; None for one that is damaged."""


def file_key(org: int, voice: Voice, language: str, text: str) -> str:
    return f"org_{org}/speech/{audio_key(voice.engine, voice.name, language, text)}.ogg"


@dataclass(frozen=True, slots=True)
class Recordings:
    speech: Speech
    files: Files
    links: Links
    measure: Measure
    default: Engine = Engine.ESPEAK
    _making: WeakValueDictionary[str, asyncio.Lock] = field(default_factory=WeakValueDictionary, repr=False)
    """One lock per file that is being made: who comes second finds it. Gone once nobody holds or awaits it."""

    async def of(self, bubble: Preparing) -> Recording:
        """Raises SpeechFailed, also when the file store is away; and what `links` raises."""
        voice = Voice.parse(bubble.voice, self.default)
        if not voice.engine.built_in and not bubble.consented:
            raise SpeechFailed(f"the voice {voice} needs its owner's consent on record", retryable=False)
        key = file_key(bubble.org, voice, bubble.language, bubble.text)
        try:
            async with self._making.setdefault(key, asyncio.Lock()):
                duration = await self._kept(key)
                if duration is None:
                    duration = await self._made(key, bubble, voice)
        except FilesUnavailable as error:
            raise SpeechFailed(error.sentence, retryable=True) from None
        return Recording(key, await self.links.url(key), OGG_OPUS, duration, bubble.text)

    async def _kept(self, key: str) -> int | None:
        try:
            found = await self.files.get(key)
        except FileMissing:
            return None
        return self.measure(found.content)

    async def _made(self, key: str, bubble: Preparing, voice: Voice) -> int:
        audio = await self.speech.say(bubble.text, str(voice), bubble.language)
        await self.files.put(key, audio.content, audio.mime)
        return audio.duration_ms
