"""What receivers of webhooks are told, as the OpenAPI document describes it. The bodies themselves are frozen by
`pipelines/delivery/bodies.py`; a test keeps the two equal."""

from datetime import datetime
from typing import Any, Literal

from pydantic import Field

from schemas.conversation import BubbleKind
from schemas.errors import Code, Severity
from schemas.http import AudioOut, Body


class MediaShown(Body):
    id: str
    url: str
    type: str


class PaymentShown(Body):
    """`url` is null where the platform makes its own link, and tells what became of it under this `id`."""

    id: str
    url: str | None
    amount: str
    currency: str
    media_ids: list[str]


class MessageSendData(Body):
    """A bubble that must be shown to the contact."""

    id: str
    job: str
    conversation: str
    contact: str
    persona: str
    ordinal: int
    kind: BubbleKind
    text: str
    media: list[MediaShown]
    audio: AudioOut | None
    payment: PaymentShown | None
    ai_generated: Literal[True]


class MessageReadData(Body):
    """What the contact wrote is to be marked as seen: it gets no answer. `message` is the newest one seen."""

    conversation: str
    message: str


class AttentionRaisedData(Body):
    """A person must look at it."""

    job: str
    conversation: str
    code: Code | None
    reason: str
    severity: Severity


class QuotaExceededData(Body):
    """The plan's AI replies of this month are used up."""

    organization: str
    plan: str
    used: int
    limit: int
    month: str = Field(description="As 2026-11.")


class PaymentDeliveredData(PaymentShown):
    """All that was paid for has been accepted by the receiver. `reference`: what whoever took the money calls it."""

    reference: str | None
    job: str
    conversation: str
    contact: str
    persona: str


EVENTS: dict[str, type[Body]] = {
    "message.send": MessageSendData,
    "message.read": MessageReadData,
    "attention.raised": AttentionRaisedData,
    "payment.delivered": PaymentDeliveredData,
    "quota.exceeded": QuotaExceededData,
}


class Event(Body):
    """Every body: what happened, when it was decided, and its facts."""

    type: str
    timestamp: datetime
    data: dict[str, Any]
