"""The port `Speech` on ElevenLabs' `POST /v1/text-to-speech/{voice_id}`."""

import re

from schemas.speech import Audio, Engine, SpeechFailed
from workers.adapters.speech.provider import ProviderSpeech
from workers.adapters.speech.text import speakable

OUTPUT = "opus_48000_32"
# The other models find the language in the text, and refuse to be told.
TAKES_LANGUAGE = {"eleven_turbo_v2_5", "eleven_flash_v2_5"}
_VOICE_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")


class ElevenLabsSpeech(ProviderSpeech):
    """Voices are people's, own or lent: a persona that uses one needs their consent on record."""

    engine = Engine.ELEVENLABS

    async def say(self, text: str, voice: str | None, language: str) -> Audio:
        """`voice` is a voice id; there is no default one: nobody's voice is used unasked."""
        if voice is None or _VOICE_ID.fullmatch(voice) is None:
            raise SpeechFailed("elevenlabs needs the id of a voice: elevenlabs:VOICE_ID", retryable=False)
        body = {"text": speakable(text), "model_id": self._model}
        if self._model in TAKES_LANGUAGE:
            body["language_code"] = language.replace("_", "-").split("-")[0].lower()
        headers = {"xi-api-key": self._api_key, "Accept": "audio/*"}
        return await self._spoken(f"/text-to-speech/{voice}?output_format={OUTPUT}", headers, body, voice)
