"""The speech engines of this installation, by its settings."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

import httpx2

from pipelines.ports import Clock, Speech
from schemas.settings import Settings
from schemas.speech import Engine
from workers.adapters.speech import ogg
from workers.adapters.speech.built_in import BuiltInSpeech
from workers.adapters.speech.choice import SpeechByVoice
from workers.adapters.speech.elevenlabs import ElevenLabsSpeech
from workers.adapters.speech.openai import BASE_URL as OPENAI_URL
from workers.adapters.speech.openai import OpenAISpeech


@asynccontextmanager
async def open_speech(settings: Settings, clock: Clock) -> AsyncIterator[Speech]:
    """Nothing is started before the first text. The programs end with the block."""
    engines: dict[Engine, Speech] = {}
    wanted = settings.speech
    patience = {Engine.ESPEAK: wanted.timeout_seconds, Engine.KOKORO: wanted.kokoro_timeout_seconds}
    async with AsyncExitStack() as stack:
        for engine, seconds in patience.items():
            built_in = BuiltInSpeech(clock, engine, wanted.processes, seconds, wanted.idle_seconds)
            stack.push_async_callback(built_in.close)
            engines[engine] = built_in
        if settings.openai_api_key or wanted.elevenlabs_api_key:
            client = await stack.enter_async_context(httpx2.AsyncClient())
            engines |= _providers(settings, client, clock)
        yield SpeechByVoice(engines, wanted.engine)


def _providers(settings: Settings, client: httpx2.AsyncClient, clock: Clock) -> dict[Engine, Speech]:
    found: dict[Engine, Speech] = {}
    wanted = settings.speech
    if settings.openai_api_key:
        key, url = settings.openai_api_key.get_secret_value(), settings.openai_base_url or OPENAI_URL
        found[Engine.OPENAI] = OpenAISpeech(client, clock, key, url, wanted.openai_model, wanted.timeout_seconds)
    if wanted.elevenlabs_api_key:
        key, url = wanted.elevenlabs_api_key.get_secret_value(), wanted.elevenlabs_base_url
        model, seconds = wanted.elevenlabs_model, wanted.timeout_seconds
        found[Engine.ELEVENLABS] = ElevenLabsSpeech(client, clock, key, url, model, seconds)
    return found


def milliseconds(content: bytes) -> int | None:
    """Of a whole Ogg/Opus file; None when it is cut or damaged, as the newest of a folder may be after a power cut."""
    try:
        return ogg.duration_ms(content) or None
    except ogg.NotOpus:
        return None
