"""The port `Speech` on OpenAI's `POST /v1/audio/speech`."""

from schemas.speech import Audio, Engine
from workers.adapters.speech.provider import ProviderSpeech
from workers.adapters.speech.text import speakable

BASE_URL = "https://api.openai.com/v1"
VOICE = "alloy"


class OpenAISpeech(ProviderSpeech):
    """The model hears the language from the text itself; the API has no field for it."""

    engine = Engine.OPENAI

    async def say(self, text: str, voice: str | None, language: str) -> Audio:
        """`voice` is one of OpenAI's names, e.g. `alloy`."""
        name = voice or VOICE
        body = {"model": self._model, "voice": name, "input": speakable(text), "response_format": "opus"}
        return await self._spoken("/audio/speech", {"Authorization": f"Bearer {self._api_key}"}, body, name)
