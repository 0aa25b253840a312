"""What a dead letter shows. Whoever reads it may work for another organisation than the contact's: it names things,
counts them, and holds no words of anybody and no secret."""

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

MOST_CHARACTERS = 10_000
MOST_DEPTH = 12
KEPT_OF_A_TRACE = frozenset(
    {
        *("run", "n", "kind", "at", "ms", "code", "failure"),
        *("model", "stop", "input", "cache_read", "cache_write", "output", "cost_usd"),
        *("tool", "refused"),
    }
)
"""All that is no text: arguments, results, drafts and refusals stand in the job's own trace."""

_WORD = re.compile(r"[A-Za-z0-9_.:@+~/-]{1,64}")
_SECRET = re.compile(r"(sk|rk|rq|pk|ghp|xox[a-z])[-_]|whsec_|Bearer|AKIA|eyJ|.*://[^/]*@", re.IGNORECASE)


def shown_message(raw: bytes) -> tuple[str, bool]:
    """A queue message as it may be kept: JSON in which every text that is no plain word is replaced by its length.

    True: nothing was replaced, so it can be put back on its queue as it stands.
    """
    try:
        message = json.loads(raw)
    except (ValueError, RecursionError):
        return f"[{len(raw)} bytes, no JSON]", False
    masked: list[str] = []
    text = json.dumps(_masked(message, masked, MOST_DEPTH), ensure_ascii=False)
    return text[:MOST_CHARACTERS], not masked and len(text) <= MOST_CHARACTERS


def _masked(value: Any, masked: list[str], depth: int) -> Any:
    """`masked` is told of everything that was left out."""
    if isinstance(value, str):
        return _word(value, masked)
    if isinstance(value, list | dict) and not depth:
        masked.append("depth")
        return "[…]"
    if isinstance(value, list):
        return [_masked(item, masked, depth - 1) for item in value]
    if isinstance(value, dict):
        return {_word(name, masked): _masked(item, masked, depth - 1) for name, item in value.items()}
    return value


def _word(text: str, masked: list[str]) -> str:
    if not text or (_WORD.fullmatch(text) and not _SECRET.match(text)):
        return text
    masked.append("text")
    return f"[{len(text)} characters]"


def without_texts(trace: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """A trace as a dead letter shows it: which calls, tools and guards, what they cost and how they ended."""
    return [{name: value for name, value in item.items() if name in KEPT_OF_A_TRACE} for item in trace]
