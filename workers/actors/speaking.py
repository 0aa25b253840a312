"""What happens to a voice bubble between its claim and the post: it is spoken, and asked again whether it may leave."""

from functools import partial

from structlog.contextvars import bind_contextvars

from schemas.claims import Posting, Preparing
from schemas.speech import SpeechFailed
from workers.actors.handles import log
from workers.bootstrap import App
from workers.runtime.insist import until_taken


async def speak(bubble: Preparing, app: App) -> Posting | None:
    """No transaction is open while the engine speaks. None: it does not leave now."""
    bind_contextvars(org=bubble.org, candidate=bubble.candidate, fence=bubble.fence)
    try:
        async with app.leases.job(bubble.job, bubble.fence, stopped=partial(app.storage.put_back, bubble)):
            recording = await app.recordings.of(bubble)
    except SpeechFailed as failure:
        log.warning("speech_failed", reason=failure.sentence, retryable=failure.retryable)
        await until_taken(partial(app.storage.speech_failed, bubble, failure))
        return None
    log.info("spoken", milliseconds=recording.duration_ms)
    return await until_taken(partial(app.storage.leave, bubble, recording))
