"""The bodies of outgoing webhooks, frozen as text when they are decided: `{"type", "timestamp", "data"}`."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from schemas.conversation import BubbleKind
from schemas.errors import Code, Severity
from schemas.ids import CandidateId, JobId, PaymentId, reference
from schemas.money import Price
from schemas.speech import Recording

MESSAGE_SEND = "message.send"
MESSAGE_READ = "message.read"
ATTENTION_RAISED = "attention.raised"
PAYMENT_DELIVERED = "payment.delivered"
QUOTA_EXCEEDED = "quota.exceeded"


@dataclass(frozen=True, slots=True)
class Sale:
    """What a link sells. `url` None: the platform makes its own, and tells what became of it under the payment's id."""

    payment: PaymentId
    url: str | None
    price: Price
    media: Sequence[str]


@dataclass(frozen=True, slots=True)
class Outgoing:
    """One bubble as the receiver is told of it. Conversation, contact and persona are upstream names."""

    candidate: CandidateId
    job: JobId
    conversation: str
    contact: str
    persona: str
    ordinal: int
    kind: BubbleKind
    text: str
    audio: dict[str, Any] | None = None
    """Of a voice bubble: url, mime, duration_ms and transcript."""
    media: Sequence[dict[str, Any]] = ()
    """What is shown: id, url and type of each. What is for sale is not among it."""
    sale: Sale | None = None
    """Of a payment bubble."""


def message_send(bubble: Outgoing, now: datetime) -> str:
    return _frozen(
        MESSAGE_SEND,
        now,
        {
            "id": reference("bub", bubble.candidate),
            "job": reference("job", bubble.job),
            "conversation": bubble.conversation,
            "contact": bubble.contact,
            "persona": bubble.persona,
            "ordinal": bubble.ordinal,
            "kind": bubble.kind.value,
            "text": bubble.text,
            "media": list(bubble.media),
            "audio": bubble.audio,
            "payment": None if bubble.sale is None else _sold(bubble.sale),
            "ai_generated": True,
        },
    )


def audio(recording: Recording) -> dict[str, Any]:
    return {name: getattr(recording, name) for name in ("url", "mime", "duration_ms", "transcript")}


def message_read(conversation: str, message: str, now: datetime) -> str:
    """`message` is the upstream id of the newest message that was left on seen."""
    return _frozen(MESSAGE_READ, now, {"conversation": conversation, "message": message})


def attention_raised(job: JobId, conversation: str, code: Code | None, reason: str, now: datetime) -> str:
    """`severity` is `critical` for what is looked at first."""
    severity = Severity.of(code)
    facts = {"job": reference("job", job), "conversation": conversation, "code": code, "reason": reason}
    facts["severity"] = severity
    return _frozen(ATTENTION_RAISED, now, facts)


def quota_exceeded(organization: str, facts: Mapping[str, Any], now: datetime) -> str:
    """`facts`: plan, used, limit, month."""
    return _frozen(QUOTA_EXCEEDED, now, {"organization": organization, **facts})


def payment_delivered(
    job: JobId, conversation: str, contact: str, persona: str, sale: Sale, told: str | None, now: datetime
) -> str:
    """All that was paid for has been accepted. `told` is what the provider's word of it called the payment."""
    facts = {
        **_sold(sale),
        "reference": told,
        "job": reference("job", job),
        "conversation": conversation,
        "contact": contact,
        "persona": persona,
    }
    return _frozen(PAYMENT_DELIVERED, now, facts)


def _sold(sale: Sale) -> dict[str, Any]:
    return {
        "id": reference("pay", sale.payment),
        "url": sale.url,
        "amount": str(sale.price.amount),
        "currency": sale.price.currency,
        "media_ids": list(sale.media),
    }


def _frozen(kind: str, now: datetime, facts: dict[str, Any]) -> str:
    body = {"type": kind, "timestamp": now.isoformat(), "data": facts}
    return json.dumps(body, ensure_ascii=False, separators=(",", ":"))
