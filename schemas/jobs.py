"""Every hint that may travel on a queue.

A hint says which row to look at, never what to do: the worker claims the row and acts on what it finds there, so a
late, lost or doubled hint does no harm. It carries the conversation too, because the conversation is locked first.
"""

from enum import StrEnum
from typing import Annotated, ClassVar

from pydantic import BaseModel, ConfigDict, Field

RowNumber = Annotated[int, Field(gt=0, lt=2**63)]
"""What a `bigint` key can be; a larger number in a hint is nonsense, not a database error."""


class Queue(StrEnum):
    REPLY = "reply"
    SEND = "send"
    BACKGROUND = "background"


class Hint(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    name: ClassVar[str]
    queue: ClassVar[Queue]

    conversation: RowNumber


class AutoReply(Hint):
    """Think about one conversation's unanswered messages."""

    name = "auto_reply"
    queue = Queue.REPLY

    job: RowNumber


class DelayedSend(Hint):
    """Send the next bubble of a job whose window has closed."""

    name = "delayed_send"
    queue = Queue.SEND

    job: RowNumber


class Deliver(Hint):
    """Try again to hand over one webhook."""

    name = "deliver"
    queue = Queue.SEND

    conversation: int = Field(ge=0, lt=2**63, description="0 when the webhook belongs to no conversation")
    delivery: RowNumber


class Learn(Hint):
    """Look for facts worth remembering in a conversation that has come to rest."""

    name = "learn"
    queue = Queue.BACKGROUND

    chore: RowNumber


class CloseLinks(Hint):
    """Close at their provider the payment links of a conversation that are closed here."""

    name = "close_links"
    queue = Queue.BACKGROUND

    chore: RowNumber


class Summarize(Hint):
    """Sum up what the window of a conversation is about to cut."""

    name = "summarize"
    queue = Queue.BACKGROUND

    chore: RowNumber
