"""Tell a message posted twice from another one under the same id."""

import hashlib

from schemas.http import MessageIn

OTHER_BODY = "id seen with another body"


def fingerprint(message: MessageIn) -> str:
    """Equal for equal bodies, whatever the order of their fields."""
    body = message.model_dump(mode="json")
    return hashlib.sha256(repr(_ordered(body)).encode()).hexdigest()


def _ordered(value: object) -> object:
    if isinstance(value, dict):
        return sorted((key, _ordered(item)) for key, item in value.items())
    if isinstance(value, list):
        return [_ordered(item) for item in value]
    return value
