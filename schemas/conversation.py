"""A conversation as the pipelines see it: everything a run may know, loaded once, when the job is claimed."""

from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from enum import StrEnum
from typing import Any

from schemas.catalogue import MediaHistory
from schemas.ids import CandidateId, ContactId, ConversationId, JobId, OrgId, PersonaId
from schemas.money import Price
from schemas.resources import OrganizationSpec, PersonaSpec
from schemas.strategy import NO_DOCUMENTS, StrategyDocuments


class Author(StrEnum):
    CONTACT = "contact"
    OPERATOR = "operator"
    AI = "ai"
    SYSTEM = "system"


class HandledBy(StrEnum):
    AI = "ai"
    HUMAN = "human"
    WAITING = "waiting"


class Trigger(StrEnum):
    MESSAGE = "message"
    FOLLOW_UP = "follow_up"
    REGENERATE = "regenerate"
    RETRY = "retry"
    RESUME = "resume"
    PAYMENT = "payment"


class Flag(StrEnum):
    """Why a person is told although nothing failed. It stays on the attention list until somebody dismisses it."""

    MONEY_DISTRESS = "money_distress"
    SPEND = "spend_24h"
    LINKS = "links_per_day"
    BOUGHT_ALREADY = "bought_already"
    """Paid under a second link: to be refunded, wholly or in part."""
    PAID_LOCKED = "paid_and_locked"
    """Paid by who is under a safety lock: nothing is delivered, to be refunded."""
    PAID_CANCELLED = "paid_and_cancelled"
    """A person has stopped what was paid for: to be refunded, wholly or in part, or delivered after all."""


class BubbleKind(StrEnum):
    TEXT = "text"
    VOICE = "voice"
    IMAGE = "image"
    VIDEO = "video"
    PAYMENT = "payment"
    NOTICE = "notice"


@dataclass(frozen=True, slots=True)
class Attachment:
    type: str
    url: str


@dataclass(frozen=True, slots=True)
class Turn:
    """One message of the window, in the order it arrived or left.

    `position` counts from 1 in its conversation and never changes. `candidate` and `kind` are set for the AI's own
    bubbles; an operator's message has the author OPERATOR. Deleted messages are not in the window.
    """

    position: int
    author: Author
    text: str
    at: datetime
    kind: BubbleKind = BubbleKind.TEXT
    attachments: tuple[Attachment, ...] = ()
    candidate: CandidateId | None = None
    answered: bool = True
    """False for a contact's message that no reply has covered yet."""
    media: tuple[str, ...] = ()
    """The upstream names of what an AI bubble showed or sold."""
    price: Price | None = None
    """Of a payment bubble, as it was asked."""


@dataclass(frozen=True, slots=True)
class Organization:
    id: OrgId
    name: str
    spec: OrganizationSpec


@dataclass(frozen=True, slots=True)
class Persona:
    id: PersonaId
    name: str
    spec: PersonaSpec
    brisk: bool = False
    """Its contacts nearly always write within four minutes: what its prompts keep need not live for an hour."""


@dataclass(frozen=True, slots=True)
class Contact:
    id: ContactId
    name: str
    """The upstream app's id of the contact."""
    display_name: str | None = None
    locale: str | None = None
    timezone: str | None = None
    profile: dict[str, Any] = field(default_factory=dict)
    noticed_at: datetime | None = None
    """When the notice that an AI writes was last delivered to this contact."""
    cleared_at: datetime | None = None
    """Since when what this contact said closes nothing again: consent was given, or two people opened a safety lock."""


@dataclass(frozen=True, slots=True)
class MoneyFacts:
    """What this contact was asked for and has spent with this persona within 24 hours, in the currency of the
    organisation; other currencies are converted at the installation's rates (`REPLIQUE_FX`)."""

    links_today: int = 0
    spent_24h: Decimal = Decimal(0)
    without_rate: tuple[str, ...] = ()
    """Currencies in which something was spent that is not in the sum, since no rate of them is known."""


@dataclass(frozen=True, slots=True)
class Effort:
    """What the choice between a task's usual and its stronger route looks at. `replies` went out in this conversation,
    7 at most; `strong_before`: the stronger route wrote the newest draft here. `strong` and `answers` count the newest
    calls of the organisation's agents, on the stronger route and altogether."""

    replies: int = 0
    strong_before: bool = False
    strong: int = 0
    answers: int = 0


@dataclass(frozen=True, slots=True)
class FollowUp:
    """Why the AI writes although nobody has written. `number`: which follow-up in a row, from 1; `reason`: what the
    agent said when it left the contact on seen."""

    number: int = 1
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Case:
    """One conversation at the moment a run begins. Times are database times."""

    now: datetime
    organization: Organization
    persona: Persona
    contact: Contact
    conversation: ConversationId
    conversation_name: str
    job: JobId
    trigger: Trigger
    turns: tuple[Turn, ...]
    """The window: at least the last 15 messages, cut back in steps (see pipelines/memory/window.py)."""
    summary: str | None = None
    """What was said before the window begins. It changes only where the window is cut."""
    plan: str | None = None
    instruction: str | None = None
    """What the operator asked for when they had the reply drafted again."""
    sent_texts: tuple[str, ...] = ()
    """The texts of the bubbles that left in this conversation, the newest 200, oldest first."""
    replies_last_minute: int = 0
    vocals_today: int = 0
    """Voice bubbles to this contact that left within 24 hours, or wait in another conversation's reply."""
    paused_until: datetime | None = None
    money: MoneyFacts = MoneyFacts()
    strategy: StrategyDocuments = NO_DOCUMENTS
    standing_rules: tuple[str, ...] = ()
    """Rules with `once` that have fired, and whose condition has held in every run that was answered since."""
    media: MediaHistory = field(default_factory=MediaHistory)
    follow_up: FollowUp | None = None
    """Set when nobody wrote: the job is a follow-up."""
    effort: Effort | None = None
    """None: nothing was looked at, since every conversation takes the usual route (`AI_ROUTING_DYNAMIC` is off)."""
