"""What an END tool means for the conversation."""

from datetime import datetime

from pipelines.agent.trace import Trace
from pipelines.autoreply.draft import Draft, LeftOnRead, Pause
from pipelines.hours import best_hour, next_at, zone_of
from schemas.conversation import Author, Case
from schemas.decisions import Silence, SilenceReason


def silence_of(draft: Draft, case: Case, trace: Trace) -> Silence:
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
            follow_up = follow_up_at(case)
            trace.note("the contact is left on seen", follow_up_at=follow_up.isoformat(), reason=reason)
            return Silence(
                SilenceReason.LEFT_ON_READ,
                detail=reason,
                read=True,
                plan=draft.plan,
                follow_up_at=follow_up,
                trace=trace.take(),
            )
    raise ValueError("the run did not end by a tool")


def follow_up_at(case: Case) -> datetime:
    """The next time it is the hour at which this contact writes most, within the persona's hours for writing first."""
    spec = case.persona.spec
    zone = zone_of((case.contact.timezone, spec.timezone, case.organization.spec.timezone))
    written = [turn.at for turn in case.turns if turn.author is Author.CONTACT]
    return next_at(best_hour(written, spec.proactive_hours, zone), case.now, zone)
