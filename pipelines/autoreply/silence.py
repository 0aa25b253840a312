"""What an END tool means for the conversation."""

from pipelines.agent.trace import Trace
from pipelines.autoreply import followup
from pipelines.autoreply.draft import Draft, LeftOnRead, Pause
from pipelines.ports import Habits
from schemas.conversation import Case
from schemas.decisions import Silence, SilenceReason


async def silence_of(draft: Draft, case: Case, trace: Trace, habits: Habits | None) -> Silence:
    """A deliberate silence, with the plan noted on the way. Raises ValueError when no END tool was accepted."""
    match draft.ending:
        case Pause(until, reason):
            trace.note("the conversation is paused", until=until.isoformat(), reason=reason)
            return Silence(
                SilenceReason.PAUSED,
                detail=reason,
                read=True,
                plan=draft.plan,
                paused_until=until,
                trace=trace.take(),
            )
        case LeftOnRead(reason):
            follow_up = await followup.next_time(case, habits)
            planned = None if follow_up is None else follow_up.isoformat()
            trace.note("the contact is left on seen", follow_up_at=planned, reason=reason)
            return Silence(
                SilenceReason.LEFT_ON_READ,
                detail=reason,
                read=case.follow_up is None,
                plan=draft.plan,
                follow_up_at=follow_up,
                trace=trace.take(),
            )
    raise ValueError("the run did not end by a tool")
