"""What a reply worker does with a job that two workers have died of: a process of its own is started for it."""

from schemas.claims import Claim, MustBeAlone
from schemas.jobs import AutoReply
from workers.bootstrap import App


async def claim_run(hint: AutoReply, app: App) -> Claim | None:
    """None: nothing to claim, or it was run apart; then it has ended, been given back, or died there."""
    try:
        return await app.storage.claim_run(hint, alone=app.apart is None)
    except MustBeAlone:
        if app.apart is not None and not await app.apart.run(hint):
            await app.storage.put_off(hint)
    return None
