"""CloseLinks: links that are closed here are closed where they are paid."""

import asyncio
from functools import partial

from structlog.contextvars import bind_contextvars

from schemas.jobs import CloseLinks
from schemas.payments import Closing, LinkFailed
from workers.actors.handles import handles, log
from workers.bootstrap import App
from workers.runtime.insist import until_taken

_STOPPED = LinkFailed("the worker stopped", retryable=True, retry_after=0)


@handles(CloseLinks)
async def close_links(hint: CloseLinks, app: App) -> None:
    closing = await app.storage.claim_closing(hint)
    if closing is None:
        return  # another worker has it, or nothing is open any more
    bind_contextvars(org=closing.org, fence=closing.fence)
    try:
        failed = await _expired(closing, app)
    except asyncio.CancelledError:
        await app.storage.end_closing(closing, _STOPPED)
        raise
    await until_taken(partial(app.storage.end_closing, closing, failed))
    log.info("links_closed", links=len(closing.sessions), failed=None if failed is None else failed.sentence)


async def _expired(closing: Closing, app: App) -> LinkFailed | None:
    """All are tried; the last failure, if there was one."""
    failure = None
    for session in closing.sessions:
        try:
            await app.expiry.expire(session)
        except LinkFailed as failed:
            failure = failed
    return failure
