"""DelayedSend: a window has closed, the next bubble leaves."""

from schemas.jobs import DelayedSend
from workers.actors.handing_over import hand_over
from workers.actors.handles import handles
from workers.bootstrap import App


@handles(DelayedSend)
async def delayed_send(hint: DelayedSend, app: App) -> None:
    posting = await app.storage.claim_send(hint)  # checks everything again; from here on the bubble has left
    if posting is not None:
        await hand_over(posting, app)
