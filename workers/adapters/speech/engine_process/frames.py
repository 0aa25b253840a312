"""What passes between the product and a speech program: frames of a small JSON head and a body of bytes.

Hello, once:  {"ready": true} or {"error": sentence}.
Request:      {"voices": [names, best first], "language": tag}, the text in UTF-8.
Answer:       {"voice": the one that spoke, "duration_ms": int} and an Ogg/Opus file,
              or {"error": sentence, "retryable": bool} and nothing.
"""

import json
import struct
from typing import Any

SIZES = struct.Struct("<II")
MAX_HEAD, MAX_BODY = 64 * 1024, 64 * 1024 * 1024


class BrokenFrame(Exception):
    """The other side is not speaking this language, or stopped in the middle of a word."""


def encoded(head: dict[str, Any], body: bytes = b"") -> bytes:
    text = json.dumps(head).encode()
    return SIZES.pack(len(text), len(body)) + text + body


def sizes(prefix: bytes) -> tuple[int, int]:
    """Length of head and of body, from the first eight bytes of a frame."""
    head, body = SIZES.unpack(prefix)
    if head > MAX_HEAD or body > MAX_BODY:
        raise BrokenFrame("a frame is larger than any we send")
    return head, body


def decoded_head(text: bytes) -> dict[str, Any]:
    try:
        head = json.loads(text)
    except ValueError:
        raise BrokenFrame("the head of a frame is not JSON") from None
    if not isinstance(head, dict):
        raise BrokenFrame("the head of a frame is not an object")
    return head
