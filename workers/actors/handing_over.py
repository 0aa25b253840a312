"""What the two sending jobs share: one attempt at the receiver, and what it proved."""

from functools import partial

from structlog.contextvars import bind_contextvars

from schemas.claims import Posting, Unknown
from workers.actors.handles import log
from workers.bootstrap import App
from workers.runtime.insist import until_taken

CUT_OFF = Unknown("the worker was stopped during the attempt")


async def hand_over(posting: Posting, app: App) -> None:
    """No transaction is open while the receiver thinks. A stop in the middle leaves the attempt in doubt."""
    bind_contextvars(org=posting.org, delivery=posting.delivery, fence=posting.fence)
    in_doubt = partial(app.storage.settle, posting, CUT_OFF)

    async with app.leases.delivery(posting.delivery, posting.fence, stopped=in_doubt):
        posted = await app.channel.post(posting.endpoint, posting.webhook_id, posting.body)
        await until_taken(partial(app.storage.settle, posting, posted))

    log.info("webhook_posted", type=posting.type, attempt=posting.attempt, outcome=type(posted).__name__)
