"""What a reply worker does with a job that two workers have died of: a process of its own is started for it."""

from schemas.claims import Claim, MustBeAlone
from schemas.jobs import AutoReply
from workers.actors.handles import log
from workers.bootstrap import Apart, App


async def claim_run(hint: AutoReply, app: App) -> Claim | None:
    """None: nothing to claim, or it was run apart; then it has ended, been given back, or died there."""
    try:
        return await app.storage.claim_run(hint, alone=app.apart is None)
    except MustBeAlone:
        if app.apart is not None:
            await _run_apart(hint, app.apart, app)
    return None


async def _run_apart(hint: AutoReply, apart: Apart, app: App) -> None:
    if apart.full:
        await app.storage.put_off(hint)
        return
    await app.storage.expect(hint)
    log.warning("runs_alone", job=hint.job)
    await apart.run(hint)
