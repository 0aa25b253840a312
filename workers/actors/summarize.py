"""Summarize: what the window of a conversation is about to cut is summed up."""

import asyncio
from functools import partial

from structlog.contextvars import bind_contextvars

from schemas.jobs import Summarize
from workers.actors.handles import handles, log
from workers.bootstrap import App
from workers.runtime.insist import until_taken


@handles(Summarize)
async def summarize(hint: Summarize, app: App) -> None:
    folding = await app.storage.claim_summary(hint)
    if folding is None:
        return  # another worker has it, or it is done
    bind_contextvars(org=folding.org, fence=folding.fence)
    try:
        summed = await app.summing.run(folding, partial(app.storage.reserve_summary, folding))  # slow
    except asyncio.CancelledError:
        await app.storage.end_summary(folding, None)
        raise
    await until_taken(partial(app.storage.end_summary, folding, summed))
    log.info("summary_ended", result=type(summed).__name__, turns=len(folding.turns), until=folding.until)
