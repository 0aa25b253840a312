"""The port `Speech` on programs of this machine: eSpeak NG by default, Kokoro where it is installed."""

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import structlog

from pipelines.ports import Clock
from schemas.speech import Audio, Engine, SpeechFailed
from workers.adapters.speech.engine import EngineDied, EngineProcess
from workers.adapters.speech.opus import finished
from workers.adapters.speech.text import speakable
from workers.adapters.speech.voices import voice_names

# eSpeak NG looks names up as files: none may lead out of its folder of voices.
VOICE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_+-]{0,39}")

log = structlog.get_logger(__name__)


class BuiltInSpeech:
    """A few programs of one engine, each doing one text at a time; who finds none free waits for its turn."""

    def __init__(
        self,
        clock: Clock,
        engine: Engine = Engine.ESPEAK,
        processes: int = 1,
        timeout_seconds: float = 30,
        idle_seconds: float = 600,
    ) -> None:
        """`timeout_seconds` is for one text, a start of the program included; after `idle_seconds` a program leaves."""
        self._clock = clock
        self._engine = engine
        self._timeout_seconds = timeout_seconds
        self.processes = [EngineProcess(engine, idle_seconds) for _ in range(processes)]
        self._free: asyncio.LifoQueue[EngineProcess] = asyncio.LifoQueue()
        for process in self.processes:
            self._free.put_nowait(process)

    async def say(self, text: str, voice: str | None, language: str) -> Audio:
        """`voice` is the engine's own name (`fr`, `en-us+f3`), or None for the language's."""
        words = speakable(text)
        voices = [voice] if voice else voice_names(language, words)
        if not all(VOICE_NAME.fullmatch(name) for name in [*voices, language]):
            raise SpeechFailed("not the name of a voice or a language", retryable=False)
        request = {"voices": voices, "language": language}
        try:
            # Waiting for the turn is no fault of the engine: a burst of voices would spend its attempts on it, and end
            # programs in the middle of other texts. Whoever waits holds a lease, and is stopped when it is lost.
            async with self._free_process() as process, asyncio.timeout(self._timeout_seconds):
                head, file = await process.ask(request, words.encode())
        except TimeoutError:
            raise self._failed(f"did not answer within {self._timeout_seconds:g} s") from None
        except EngineDied:
            raise self._failed("died while it spoke") from None
        return self._audio(head, file)

    async def close(self) -> None:
        await asyncio.gather(*(process.stop() for process in self.processes))

    @asynccontextmanager
    async def _free_process(self) -> AsyncIterator[EngineProcess]:
        process = await self._free.get()  # the one used last, so that the others may grow idle and leave
        try:
            yield process
        finally:
            self._free.put_nowait(process)

    def _audio(self, head: dict[str, Any], file: bytes) -> Audio:
        if "error" in head:
            raise SpeechFailed(str(head["error"]), retryable=bool(head.get("retryable")))
        return finished(file, self._engine, str(head["voice"]), self._clock.now())

    def _failed(self, what: str) -> SpeechFailed:
        log.warning("speech.engine_failed", engine=str(self._engine), what=what)
        return SpeechFailed(f"the engine {self._engine} {what}", retryable=True)
