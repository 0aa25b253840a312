"""DelayedSend: a window has closed, the next bubble leaves."""

from schemas.claims import Preparing
from schemas.jobs import DelayedSend
from workers.actors.handing_over import hand_over
from workers.actors.handles import handles
from workers.actors.speaking import speak
from workers.bootstrap import App


@handles(DelayedSend)
async def delayed_send(hint: DelayedSend, app: App) -> None:
    claimed = await app.storage.claim_send(hint)  # checks everything again
    posting = await speak(claimed, app) if isinstance(claimed, Preparing) else claimed  # slow, and checked again
    if posting is not None:
        # from here on the bubble has left
        await hand_over(posting, app)
