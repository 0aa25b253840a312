"""The bodies of outgoing webhooks, frozen as text when they are decided: `{"type", "timestamp", "data"}`."""

import json
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from schemas.conversation import BubbleKind
from schemas.errors import Code
from schemas.ids import CandidateId, JobId, reference
from schemas.speech import Recording

MESSAGE_SEND = "message.send"
MESSAGE_READ = "message.read"
ATTENTION_RAISED = "attention.raised"


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
            "media": [],
            "audio": bubble.audio,
            "payment": None,
            "ai_generated": True,
        },
    )


def audio(recording: Recording) -> dict[str, Any]:
    return {name: getattr(recording, name) for name in ("url", "mime", "duration_ms", "transcript")}


def message_read(conversation: str, message: str, now: datetime) -> str:
    """`message` is the upstream id of the newest message that was left on seen."""
    return _frozen(MESSAGE_READ, now, {"conversation": conversation, "message": message})


def attention_raised(job: JobId, conversation: str, code: Code | None, reason: str, now: datetime) -> str:
    facts = {"job": reference("job", job), "conversation": conversation, "code": code, "reason": reason}
    return _frozen(ATTENTION_RAISED, now, facts)


def _frozen(kind: str, now: datetime, facts: dict[str, Any]) -> str:
    body = {"type": kind, "timestamp": now.isoformat(), "data": facts}
    return json.dumps(body, ensure_ascii=False, separators=(",", ":"))
