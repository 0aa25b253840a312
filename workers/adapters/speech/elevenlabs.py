"""The port `Speech` on ElevenLabs' `POST /v1/text-to-speech/{voice_id}`."""

import re

import httpx2

from pipelines.ports import Clock
from schemas.speech import Audio, Engine, SpeechFailed
from workers.adapters.speech.opus import finished
from workers.adapters.speech.provider import SpeechCall
from workers.adapters.speech.text import speakable

BASE_URL = "https://api.elevenlabs.io/v1"
MODEL = "eleven_multilingual_v2"
OUTPUT = "opus_48000_32"
# The other models find the language in the text, and refuse to be told.
TAKES_LANGUAGE = {"eleven_turbo_v2_5", "eleven_flash_v2_5"}
_VOICE_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")


class ElevenLabsSpeech:
    """Voices are people's, own or lent: a persona that uses one needs their consent on record."""

    def __init__(
        self,
        client: httpx2.AsyncClient,
        clock: Clock,
        api_key: str,
        base_url: str = BASE_URL,
        model: str = MODEL,
        timeout_seconds: float = 30,
    ) -> None:
        self._call = SpeechCall(client, Engine.ELEVENLABS, timeout_seconds)
        self._clock = clock
        self._headers = {"xi-api-key": api_key, "Accept": "audio/*"}
        self._base_url = base_url.rstrip("/")
        self._model = model

    async def say(self, text: str, voice: str | None, language: str) -> Audio:
        """`voice` is a voice id; there is no default one: nobody's voice is used unasked."""
        if voice is None or _VOICE_ID.fullmatch(voice) is None:
            raise SpeechFailed("elevenlabs needs the id of a voice: elevenlabs:VOICE_ID", retryable=False)
        body = {"text": speakable(text), "model_id": self._model}
        if self._model in TAKES_LANGUAGE:
            body["language_code"] = language.replace("_", "-").split("-")[0].lower()
        url = f"{self._base_url}/text-to-speech/{voice}?output_format={OUTPUT}"
        content = await self._call.post(url, self._headers, body)
        return finished(content, Engine.ELEVENLABS, voice, self._clock.now())
