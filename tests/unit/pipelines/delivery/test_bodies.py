"""The bodies of webhooks, byte for byte."""

from datetime import UTC, datetime

from pipelines.delivery import bodies
from schemas.conversation import BubbleKind
from schemas.errors import Code
from schemas.ids import CandidateId, JobId

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)


def test_a_bubble() -> None:
    bubble = bodies.Outgoing(CandidateId(7), JobId(3), "c-1", "fan-7", "maya", 0, BubbleKind.TEXT, "Léo 😀")

    assert bodies.message_send(bubble, NOW) == (
        '{"type":"message.send","timestamp":"2026-11-30T12:00:00+00:00","data":{"id":"bub_7","job":"job_3",'
        '"conversation":"c-1","contact":"fan-7","persona":"maya","ordinal":0,"kind":"text","text":"Léo 😀",'
        '"media":[],"audio":null,"payment":null,"ai_generated":true}}'
    )


def test_left_on_seen() -> None:
    assert bodies.message_read("c-1", "m-9", NOW) == (
        '{"type":"message.read","timestamp":"2026-11-30T12:00:00+00:00","data":{"conversation":"c-1","message":"m-9"}}'
    )


def test_attention() -> None:
    assert bodies.attention_raised(JobId(3), "c-1", Code.DELIVERY, "410", NOW) == (
        '{"type":"attention.raised","timestamp":"2026-11-30T12:00:00+00:00",'
        '"data":{"job":"job_3","conversation":"c-1","code":"AR-560","reason":"410","severity":"normal"}}'
    )
