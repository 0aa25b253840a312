"""The last step of every engine: check the file, time it, and write into it where it comes from."""

from datetime import datetime

from schemas.speech import OGG_OPUS, Audio, Engine, SpeechFailed
from workers.adapters.speech import ogg


def finished(content: bytes, engine: Engine, voice: str, made_at: datetime) -> Audio:
    """An `Audio` that carries its mark. Raises `SpeechFailed` for what is not one whole Ogg/Opus file."""
    try:
        marked = ogg.with_tags(content, provenance(engine, voice, made_at))
        duration = ogg.duration_ms(marked)
    except ogg.NotOpus as error:
        raise SpeechFailed(f"what {engine} answered is not a whole Ogg/Opus file: {error}", retryable=True) from None
    if duration == 0:
        raise SpeechFailed(f"{engine} answered an empty file", retryable=True)
    return Audio(marked, duration, OGG_OPUS, engine, voice)


def provenance(engine: Engine, voice: str, made_at: datetime) -> dict[str, str]:
    """Comment tags that any player or `opusinfo` shows: synthetic speech must say so, also when it is passed on."""
    return {
        "ai_generated": "true",
        "ai_engine": str(engine),
        "ai_voice": voice,
        "made_at": made_at.isoformat(timespec="seconds"),
        "comment": "Synthetic speech, made by a machine.",
    }
