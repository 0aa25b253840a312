"""Selling media to a contact: what is asked, the link under which it is paid, and what became of it."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import ClassVar

from schemas.catalogue import Media
from schemas.errors import Code
from schemas.ids import CandidateId, ConversationId, JobId, OrgId, PaymentId
from schemas.money import Price


class PaymentState(StrEnum):
    OPEN = "open"
    PAID = "paid"
    EXPIRED = "expired"
    REFUNDED = "refunded"


class PaymentProvider(StrEnum):
    """Who makes the link: the platform itself (it is told which payment the bubble is for, and there is no address of
    ours), Stripe, or the gateway's own page, on which no money moves."""

    WEBHOOK = "webhook"
    STRIPE = "stripe"
    TEST = "test"


@dataclass(frozen=True, slots=True)
class Ware:
    """A media of a persona, as one contact stands to it."""

    media: Media
    consented: bool
    bought: bool

    @property
    def price(self) -> Price | None:
        return self.media.price


@dataclass(frozen=True, slots=True)
class Order:
    """What a provider is asked to sell. `key` is the same for every attempt at the same link."""

    payment: PaymentId
    key: str
    price: Price
    title: str
    """What the payer reads."""
    language: str


@dataclass(frozen=True, slots=True)
class Offering:
    """A payment bubble whose link is to be made now, outside of any transaction: it can still be edited, held and
    recalled. The job is leased meanwhile, under `fence`; whether the bubble may leave is asked again afterwards."""

    job: JobId
    conversation: ConversationId
    org: OrgId
    fence: int
    candidate: CandidateId
    version: int
    order: Order
    due_at: datetime | None = None
    """When the bubble should have left: how late it is counts from there."""


@dataclass(frozen=True, slots=True)
class Link:
    """`url` None: the platform makes its own. `reference` is the provider's name of it; after `expires_at` it sells
    nothing any more."""

    url: str | None
    reference: str | None = None
    expires_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Closing:
    """Links of one conversation that are closed here, and may still be open where they are paid. The chore is leased
    under `fence`. `sessions`: what their provider calls them."""

    chore: int
    fence: int
    conversation: ConversationId
    org: OrgId
    sessions: tuple[str, ...]


class LinkFailed(Exception):
    """No link was made, or closed. The only error of `PaymentLinks` and `LinkExpiry`.

    `retryable` says whether the same call may succeed later; `retry_after` is in seconds, as a provider asked.
    """

    code: ClassVar[Code] = Code.PAYMENT_LINK

    def __init__(self, sentence: str, retryable: bool, retry_after: float | None = None) -> None:
        super().__init__(f"{self.code} {sentence}")
        self.sentence = sentence
        self.retryable = retryable
        self.retry_after = retry_after
