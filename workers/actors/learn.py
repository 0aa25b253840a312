"""Learn: a conversation has come to rest, what its contact told is remembered."""

import asyncio
from functools import partial

from structlog.contextvars import bind_contextvars

from schemas.jobs import Learn
from workers.actors.handles import handles, log
from workers.bootstrap import App
from workers.runtime.insist import until_taken


@handles(Learn)
async def learn(hint: Learn, app: App) -> None:
    lesson = await app.storage.claim_lesson(hint)
    if lesson is None:
        return  # another worker has it, or the contact is writing
    bind_contextvars(org=lesson.asker.org, fence=lesson.fence)
    try:
        learnt = await app.learning.run(lesson, partial(app.storage.reserve_lesson, lesson))  # slow
    except asyncio.CancelledError:
        await app.storage.end_lesson(lesson, None)
        raise
    new = await until_taken(partial(app.storage.end_lesson, lesson, learnt))
    log.info("lesson_ended", result=type(learnt).__name__, heard=len(lesson.heard), new=new)
