"""The automatic cache: the longest beginning of the prompt that was sent before, in steps of 128 tokens from 1,024 on.

Counted at the ends of messages, where the real one counts tokens: never more than it would give.
"""

import hashlib
import json
from dataclasses import dataclass
from typing import Any

from workers.simulator.openai.models import ChatModel
from workers.simulator.tokens import text_tokens

SMALLEST, STEP = 1_024, 128


@dataclass(frozen=True, slots=True)
class Bill:
    """Tokens of a prompt: all of it, of which read from the cache and written to it."""

    total: int
    cached: int
    written: int


class AutomaticCache:
    def __init__(self) -> None:
        self._known: dict[bytes, float] = {}

    def clear(self) -> None:
        self._known.clear()

    def bill(self, body: dict[str, Any], model: ChatModel, key: str, now: float) -> Bill:
        """`key` is the account, `now` in seconds. What this prompt begins with is known from here on."""
        total, cached, ends = 0, 0, []
        digest = hashlib.sha256(f"{key}\0{model.id}\0{body.get('reasoning_effort')}".encode())
        for piece in (body.get("tools"), body.get("response_format"), *body["messages"]):
            text = json.dumps(piece, ensure_ascii=False, separators=(",", ":"))
            digest.update(text.encode("utf-8", "surrogatepass"))
            total += text_tokens(text) if piece is not None else 0
            ends.append(digest.copy().digest())
            if self._known.get(ends[-1], 0.0) > now:
                cached = total
        for end in ends:
            self._known[end] = now + model.cached_for
        cached = _steps(cached)
        return Bill(total, cached, max(_steps(total) - cached, 0) if model.bills_writes else 0)


def _steps(tokens: int) -> int:
    return tokens // STEP * STEP if tokens >= SMALLEST else 0
