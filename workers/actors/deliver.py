"""Deliver: a webhook that waits for its next attempt, or whose worker died while it was out."""

from schemas.jobs import Deliver
from workers.actors.handing_over import hand_over
from workers.actors.handles import handles
from workers.bootstrap import App


@handles(Deliver)
async def deliver(hint: Deliver, app: App) -> None:
    posting = await app.storage.claim_delivery(hint)
    if posting is not None:
        await hand_over(posting, app)
