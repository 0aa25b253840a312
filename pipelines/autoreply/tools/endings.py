"""End a turn without a reply, on purpose."""

from datetime import timedelta

from pydantic import AwareDatetime, Field

from pipelines.agent.tools import Args, Done, Effect, Outcome, Refused, Tool
from pipelines.autoreply.draft import Draft, LeftOnRead, Pause

LONGEST_PAUSE = timedelta(days=366)


class LeaveOnReadArgs(Args):
    """Send nothing now: the contact's last message is left on "seen", and you come back at a good hour. Ends your
    turn. Not possible while bubbles are queued."""

    reason: str | None = Field(None, description="Why, in a few words, for the operator.")


class LeaveOnRead(Tool[LeaveOnReadArgs, Draft]):
    name = "leave_on_read"
    effect = Effect.END
    args = LeaveOnReadArgs

    async def call(self, args: LeaveOnReadArgs, state: Draft) -> Outcome:
        if refused := _queue_not_empty(state):
            return refused
        state.ending = LeftOnRead(args.reason)
        return Done("The contact is left on seen.")


class ConversationPauseArgs(Args):
    """Send nothing, and answer nothing that comes before a given time. The contact is left on "seen". Ends your turn.
    Not possible while bubbles are queued."""

    until: AwareDatetime = Field(description="In the future, with offset, e.g. 2027-03-01T18:00:00+01:00.")
    reason: str | None = Field(None, description="Why, in a few words, for the operator.")


class ConversationPause(Tool[ConversationPauseArgs, Draft]):
    name = "conversation_pause"
    effect = Effect.END
    args = ConversationPauseArgs

    async def call(self, args: ConversationPauseArgs, state: Draft) -> Outcome:
        if refused := _queue_not_empty(state):
            return refused
        if args.until <= state.now:
            return Refused(f"until: {args.until.isoformat()} is not in the future. Give a later time.")
        if args.until - state.now > LONGEST_PAUSE:
            return Refused(f"until: {args.until.isoformat()} is over a year away. Give an earlier time.")
        state.ending = Pause(args.until, args.reason)
        return Done(f"Paused until {args.until.isoformat()}.")


def _queue_not_empty(state: Draft) -> Refused | None:
    if not state.sendable:
        return None
    return Refused(
        f"{state.sendable} bubbles are queued. Call clear_messages first, or just end your turn to have them sent."
    )
