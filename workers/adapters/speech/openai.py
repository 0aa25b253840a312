"""The port `Speech` on OpenAI's `POST /v1/audio/speech`."""

import httpx2

from pipelines.ports import Clock
from schemas.speech import Audio, Engine
from workers.adapters.speech.opus import finished
from workers.adapters.speech.provider import SpeechCall
from workers.adapters.speech.text import speakable

BASE_URL = "https://api.openai.com/v1"
MODEL = "gpt-4o-mini-tts"
VOICE = "alloy"


class OpenAISpeech:
    """The model hears the language from the text itself; the API has no field for it."""

    def __init__(
        self,
        client: httpx2.AsyncClient,
        clock: Clock,
        api_key: str,
        base_url: str = BASE_URL,
        model: str = MODEL,
        timeout_seconds: float = 30,
    ) -> None:
        self._call = SpeechCall(client, Engine.OPENAI, timeout_seconds)
        self._clock = clock
        self._headers = {"Authorization": f"Bearer {api_key}"}
        self._url = f"{base_url.rstrip('/')}/audio/speech"
        self._model = model

    async def say(self, text: str, voice: str | None, language: str) -> Audio:
        """`voice` is one of OpenAI's names, e.g. `alloy`."""
        name = voice or VOICE
        body = {"model": self._model, "voice": name, "input": speakable(text), "response_format": "opus"}
        content = await self._call.post(self._url, self._headers, body)
        return finished(content, Engine.OPENAI, name, self._clock.now())
