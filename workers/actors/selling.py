"""What happens to a payment bubble between its claim and the post: it gets its link, and is asked again whether it may
leave."""

from functools import partial

from structlog.contextvars import bind_contextvars

from schemas.claims import Posting
from schemas.payments import LinkFailed, Offering
from workers.actors.handles import log
from workers.bootstrap import App
from workers.runtime.insist import until_taken


async def offer(bubble: Offering, app: App) -> Posting | None:
    """No transaction is open while the provider thinks. None: it does not leave now."""
    bind_contextvars(org=bubble.org, candidate=bubble.candidate, fence=bubble.fence, payment=bubble.order.payment)
    try:
        async with app.leases.job(bubble.job, bubble.fence, stopped=partial(app.storage.put_back, bubble)):
            link = await app.links.make(bubble.order)
    except LinkFailed as failure:
        log.warning("link_failed", reason=failure.sentence, retryable=failure.retryable)
        await until_taken(partial(app.storage.link_failed, bubble, failure))
        return None
    log.info("link_made")
    return await until_taken(partial(app.storage.leave_linked, bubble, link))
