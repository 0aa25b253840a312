"""Queue text bubbles, and start over."""

from pydantic import Field

from pipelines.agent.tools import Args, Done, Effect, Outcome, Refused, Tool
from pipelines.autoreply.draft import Draft
from pipelines.text import storable
from schemas.conversation import BubbleKind
from schemas.decisions import Bubble


class SendMessageArgs(Args):
    """Queue one text bubble for the contact. Nothing is sent while you work: the queue leaves after you end your
    turn. One call per bubble, in the order they should be read."""

    text: str = Field(min_length=1, description="Exactly what the contact will read.")


class SendMessage(Tool[SendMessageArgs, Draft]):
    name = "send_message"
    effect = Effect.DRAFT
    args = SendMessageArgs

    async def call(self, args: SendMessageArgs, state: Draft) -> Outcome:
        text = storable(args.text).strip()
        if not text:
            return Refused("text: it is empty. Write what the contact should read, and call send_message again.")
        if broken := state.checks.first_broken(text, state.texts):
            return Refused(f"{broken} The bubble was not queued.")
        state.bubbles.append(Bubble(BubbleKind.TEXT, text))
        return Done(f"Queued as candidate {len(state.bubbles) - 1}.")


class ClearMessagesArgs(Args):
    """Empty the whole queue of this reply, to start over when something in it is wrong."""

    reason: str | None = Field(None, description="Why, in a few words.")


class ClearMessages(Tool[ClearMessagesArgs, Draft]):
    name = "clear_messages"
    effect = Effect.DRAFT
    args = ClearMessagesArgs

    async def call(self, args: ClearMessagesArgs, state: Draft) -> Outcome:
        return Done(f"{state.empty()} queued bubbles were dropped. The queue is empty.")
