"""How a run can end. An expected ending is a value; what the queue must do follows from it."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from schemas.agent import TraceItem
from schemas.conversation import BubbleKind, Flag
from schemas.errors import Code, FailureKind
from schemas.honesty import Alarm
from schemas.llm import SettledCall
from schemas.media import MediaRef
from schemas.money import Price
from schemas.strategy import NO_STRATEGY, Resolved


class SilenceReason(StrEnum):
    """Why no reply is right. Kept on the job as its `reason`."""

    NOTHING_TO_ANSWER = "nothing_to_answer"
    BOT_LOOP = "bot_loop"
    LEFT_ON_READ = "left_on_read"
    PAUSED = "paused"
    GONE = "gone"
    AUTONOMY_OFF = "autonomy_off"
    OPTED_OUT = "opted_out"


@dataclass(frozen=True, slots=True)
class Bubble:
    """One candidate message. Ordinals are given when the reply is recorded.

    `media` is what it shows, or, with a `price`, what it sells.
    """

    kind: BubbleKind
    text: str
    media: tuple[MediaRef, ...] = ()
    price: Price | None = None


@dataclass(frozen=True, slots=True)
class Reply:
    """Bubbles to hold in the control window. The notice, when one is due, is put before them as they are recorded."""

    bubbles: tuple[Bubble, ...]
    plan: str | None = None
    note: str | None = None
    """What an operator should know, e.g. that the best of several versions was kept."""
    trace: tuple[TraceItem, ...] = ()
    call: SettledCall | None = None
    flag: Flag | None = None
    """Why a person should look although it is sent: a machine token."""
    strategy: Resolved = NO_STRATEGY
    """Also how it waits: its autonomy and window come before the persona's."""
    follow_up_at: datetime | None = None
    """When to write once more, should this stay without an answer."""


@dataclass(frozen=True, slots=True)
class Silence:
    """No reply, and that is right. `read`: the contact is left on seen (a `message.read` webhook goes out)."""

    reason: SilenceReason
    code: Code | None = None
    detail: str | None = None
    read: bool = False
    plan: str | None = None
    paused_until: datetime | None = None
    follow_up_at: datetime | None = None
    trace: tuple[TraceItem, ...] = ()
    flag: Flag | None = None
    alarm: Alarm | None = None
    """What the contact said that closes all their conversations."""
    strategy: Resolved | None = None
    """None: it was decided before any rule was asked."""

    @property
    def deliberate(self) -> bool:
        """The agent chose it, with an END tool."""
        return self.reason in (SilenceReason.LEFT_ON_READ, SilenceReason.PAUSED)


@dataclass(frozen=True, slots=True)
class Failure:
    """The run ends without a reply and a person is told. `reason` is a machine token, `detail` a sentence of ours."""

    code: Code
    reason: str
    trace: tuple[TraceItem, ...] = ()
    call: SettledCall | None = None
    """The call that was in flight, when there was one."""
    prepared: tuple[Bubble, ...] = ()
    """True replies that a person may send with one click. Nothing sends them by itself."""
    alarm: Alarm | None = None
    strategy: Resolved | None = None
    detail: str | None = None


@dataclass(frozen=True, slots=True)
class Parked:
    """The provider cannot answer now: the job waits in the database, the run is kept, the worker is free.

    `counts` says whether this was a failed try (a 429 with a date is not). `retry_after` in seconds, if the provider
    named one. `active_seconds` is what the run has worked so far, over all its claims: the wait does not count.
    """

    kind: FailureKind
    sentence: str
    counts: bool
    retry_after: float | None = None
    active_seconds: float = 0.0
    trace: tuple[TraceItem, ...] = ()
    call: SettledCall | None = None


@dataclass(frozen=True, slots=True)
class Stopped:
    """Saving a step found that the run is not ours to end: overtaken by the contact, or the lease was lost."""


Decision = Reply | Silence | Failure | Parked | Stopped
