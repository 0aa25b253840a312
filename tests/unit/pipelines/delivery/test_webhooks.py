"""The document that describes our webhooks says what their bodies hold: no field more, none less, of the same types."""

import json
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest
from pydantic import BaseModel

from pipelines.delivery import bodies
from schemas.conversation import BubbleKind
from schemas.errors import Code
from schemas.ids import CandidateId, JobId, PaymentId
from schemas.money import Price
from schemas.webhooks import EVENTS, Event

NOW = datetime(2026, 11, 30, 11, 0, tzinfo=UTC)
SALE = bodies.Sale(PaymentId(3), "https://pay.example/3", Price(Decimal("12.50"), "EUR"), ["v-1"])
SOUND = {"url": "https://it/v1/files/x", "mime": "audio/ogg", "duration_ms": 900, "transcript": "salut"}
MEDIA = [{"id": "v-1", "url": "https://cdn.example/v-1", "type": "video"}]


def bubble(kind: BubbleKind = BubbleKind.TEXT, **fields: Any) -> str:
    named: dict[str, Any] = {
        "conversation": "c-1",
        "contact": "fan-7",
        "persona": "maya",
        "ordinal": 0,
        "text": "salut",
    }
    return bodies.message_send(bodies.Outgoing(CandidateId(1), JobId(2), kind=kind, **named, **fields), NOW)


BODIES = [
    bubble(),
    bubble(BubbleKind.VOICE, audio=SOUND),
    bubble(BubbleKind.VIDEO, media=MEDIA),
    bubble(BubbleKind.PAYMENT, sale=SALE),
    bodies.message_read("c-1", "m-1", NOW),
    bodies.attention_raised(JobId(2), "c-1", Code.SAFETY_STOP, "a minor", NOW),
    bodies.attention_raised(JobId(2), "c-1", None, "approval", NOW),
    bodies.quota_exceeded("acme", {"plan": "starter", "used": 500, "limit": 500, "month": "2026-11"}, NOW),
    bodies.payment_delivered(JobId(2), "c-1", "fan-7", "maya", SALE, "tx-9", NOW),
    bodies.payment_delivered(JobId(2), "c-1", "fan-7", "maya", SALE, None, NOW),
]


@pytest.mark.parametrize("body", BODIES)
def test_a_body_is_what_its_description_says(body: str) -> None:
    event = Event.model_validate_json(body)
    described = EVENTS[event.type].model_validate_json(json.dumps(event.data))

    assert fields_of(described) == fields_of(event.data)


def test_each_event_is_described_and_tried() -> None:
    named = {value for name, value in vars(bodies).items() if name.isupper() and isinstance(value, str)}

    assert named == set(EVENTS) == {json.loads(body)["type"] for body in BODIES}


def fields_of(value: Any) -> Any:
    """The names, level by level."""
    if isinstance(value, BaseModel):
        value = value.model_dump(mode="json")
    if isinstance(value, dict):
        return {name: fields_of(inner) for name, inner in value.items()}
    return [fields_of(inner) for inner in value] if isinstance(value, list) else None
