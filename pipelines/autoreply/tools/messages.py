"""Queue bubbles to be read or heard, and start over."""

from pydantic import Field

from pipelines.agent.tools import Args, Done, Effect, Outcome, Refused, Tool
from pipelines.autoreply.draft import Draft
from pipelines.text import is_blank, rendered
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
        text = rendered(args.text).strip()
        return _refused(text, state, self.name) or _queued(BubbleKind.TEXT, text, state)


class SendVocalArgs(Args):
    """Queue one voice bubble: the persona's voice reads the text aloud. For one or two sentences that gain from being
    heard, above all when the contact asks to hear you. Write words only: no emoji, no links, no lists."""

    text: str = Field(min_length=1, description="Exactly what the contact will hear.")


class SendVocal(Tool[SendVocalArgs, Draft]):
    name = "send_vocal"
    effect = Effect.DRAFT
    args = SendVocalArgs

    async def call(self, args: SendVocalArgs, state: Draft) -> Outcome:
        text = rendered(args.text).strip()
        if refused := _refused(text, state, self.name):
            return refused
        if broken := state.checks.voice_broken(text, state.vocals):
            return Refused(f"{broken} The bubble was not queued.")
        return _queued(BubbleKind.VOICE, text, state)


def _refused(text: str, state: Draft, tool: str) -> Refused | None:
    """`text` as its reader will see it: what Markdown hid is checked too."""
    if is_blank(text):
        return Refused(f"text: it is empty. Write what the contact should get, and call {tool} again.")
    broken = state.checks.first_broken(text, state.texts)
    return Refused(f"{broken} The bubble was not queued.") if broken else None


def _queued(kind: BubbleKind, text: str, state: Draft) -> Done:
    state.bubbles.append(Bubble(kind, text))
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
