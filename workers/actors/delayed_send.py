"""DelayedSend: a window has closed, the next bubble leaves."""

from schemas.claims import Posting, Preparing
from schemas.jobs import DelayedSend
from schemas.payments import Offering
from workers.actors.handing_over import hand_over
from workers.actors.handles import handles
from workers.actors.selling import offer
from workers.actors.speaking import speak
from workers.bootstrap import App


@handles(DelayedSend)
async def delayed_send(hint: DelayedSend, app: App) -> None:
    claimed = await app.storage.claim_send(hint)  # checks everything again
    posting = await _prepared(claimed, app)
    if posting is not None:
        # from here on the bubble has left
        await hand_over(posting, app)


async def _prepared(claimed: Posting | Preparing | Offering | None, app: App) -> Posting | None:
    """What has to be made first is made outside of any transaction: slow, and checked again."""
    if isinstance(claimed, Preparing):
        return await speak(claimed, app)
    return await offer(claimed, app) if isinstance(claimed, Offering) else claimed
