"""Which engine speaks: what the persona's `voice` says, else the default."""

from collections.abc import Mapping

from pipelines.ports import Speech
from schemas.speech import Audio, Engine, SpeechFailed, Voice


class SpeechByVoice:
    """The port `Speech` over several engines. `espeak`, `fr+f3`, `elevenlabs:VOICE_ID` are voices; so is None."""

    def __init__(self, engines: Mapping[Engine, Speech], default: Engine = Engine.ESPEAK) -> None:
        self._engines = engines
        self._default = default

    async def say(self, text: str, voice: str | None, language: str) -> Audio:
        asked = Voice.parse(voice, self._default)
        engine = self._engines.get(asked.engine)
        if engine is None:
            raise SpeechFailed(f"the engine {asked.engine} is not set up here", retryable=False)
        return await engine.say(text, asked.name, language)
