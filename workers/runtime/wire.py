"""A hint as it lies in Redis: dramatiq's own layout and message format, so that its tools can read our queues.

`dramatiq:{queue}` is a list of ids, `dramatiq:{queue}.msgs` a hash of id to JSON.
"""

import json
import time
from collections.abc import Mapping
from typing import Any
from uuid import uuid4

from pydantic import ValidationError

from schemas.jobs import Hint

NAMESPACE = "dramatiq"


class Unreadable(Exception):
    """A message is no hint of ours. The sentence never quotes the message."""


def list_key(queue: str) -> str:
    return f"{NAMESPACE}:{queue}"


def payloads_key(queue: str) -> str:
    return f"{NAMESPACE}:{queue}.msgs"


def encode(hint: Hint) -> tuple[str, bytes]:
    """A new id and the message that goes under it."""
    message_id = uuid4().hex
    message = {
        "queue_name": hint.queue.value,
        "actor_name": hint.name,
        "args": [hint.model_dump()],
        "kwargs": {},
        "options": {"redis_message_id": message_id},
        "message_id": message_id,
        "message_timestamp": int(time.time() * 1000),
    }
    return message_id, json.dumps(message, separators=(",", ":")).encode()


def decode(raw: bytes, hints: Mapping[str, type[Hint]]) -> Hint:
    """The hint in a message. `hints` by actor name. Raises `Unreadable`.

    Options, ids and the queue's name inside the message are ignored: a forged `eta` or queue must not steer a worker.
    """
    message = _object(raw)
    name = message.get("actor_name")
    if not isinstance(name, str) or name not in hints:
        raise Unreadable("the message names no actor of this queue")
    match message.get("args"), message.get("kwargs"):
        case [dict() as fields], None | {}:
            return _hint(hints[name], fields)
    raise Unreadable(f"{name} takes one object")


def _object(raw: bytes) -> dict[Any, Any]:
    try:
        message = json.loads(raw)
    except (ValueError, RecursionError):
        raise Unreadable("the message is not JSON") from None
    if not isinstance(message, dict):
        raise Unreadable("the message is not a JSON object")
    return message


def _hint(kind: type[Hint], fields: dict[Any, Any]) -> Hint:
    try:
        return kind.model_validate(fields, strict=True)
    except ValidationError as error:
        problems = error.errors(include_input=False, include_url=False, include_context=False)
        places = sorted({str(problem["loc"][0]) for problem in problems if problem["loc"]} & kind.model_fields.keys())
        named = ", ".join(places) or "unknown fields"
        raise Unreadable(f"{kind.name} is malformed: {named}") from None
