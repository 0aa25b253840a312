"""AutoReply: claim the job, think, record the decision."""

from functools import partial

from structlog.contextvars import bind_contextvars

from schemas.agent import Kept, Step
from schemas.jobs import AutoReply
from schemas.llm import Reservation, SettledCall
from workers.actors.apart import claim_run
from workers.actors.handles import handles, log
from workers.bootstrap import App
from workers.runtime.insist import until_taken


@handles(AutoReply)
async def auto_reply(hint: AutoReply, app: App) -> None:
    claim = await claim_run(hint, app)
    if claim is None:
        return  # another worker or another process has it, or nothing is due
    bind_contextvars(org=claim.org, fence=claim.fence)

    async def keep(step: Step | None, reserve: Reservation | None, failed: SettledCall | None = None) -> Kept:
        return await until_taken(partial(app.storage.save_step, claim, step, reserve, failed))

    async with app.leases.job(claim.job, claim.fence, stopped=partial(app.storage.give_back, claim)):
        decision = await app.replies.run(claim.case, claim.resume, keep)  # slow: no transaction is open
        recorded = await until_taken(partial(app.storage.record, claim, decision))  # decides again, under the lock

    log.info("run_ended", decision=type(decision).__name__, recorded=type(recorded).__name__)
