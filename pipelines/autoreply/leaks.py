"""What must stay inside: markup, the syntax of tools and templates, our own words about the run."""

import re
from collections.abc import Iterable
from functools import lru_cache

from pipelines.autoreply.words import words_of
from pipelines.text import fold

_MARKUP = (
    (re.compile(r"<\|[^|\n]{0,60}\|>"), "a model's control mark"),
    (re.compile(r"</?[a-z][\w:-]*(?:\s[^<>]*)?/?>", re.IGNORECASE), "a tag"),
    (re.compile(r"<(?:!--|!doctype|\?xml)", re.IGNORECASE), "a tag"),
    (re.compile(r"\{\{|\}\}|\{%|%\}|<%|%>|\$\{\w"), "template syntax"),
    (re.compile(r"\{[A-Za-z_][\w.]{0,40}\}"), "an unfilled placeholder"),
    (re.compile(r"\[/?INST\]|^(?:assistant|system|user|human)\s*:", re.IGNORECASE | re.MULTILINE), "a role mark"),
    (re.compile(r'"(?:name|tool|type|input|arguments|text)"\s*:\s*["{\[]'), "the syntax of a tool call"),
)
_TOOL_NAMES = (
    "send_message|send_vocal|send_image|send_payment|get_media|search_rag|set_plan|leave_on_read|"
    "conversation_pause|clear_messages"
)
_INTERNAL = re.compile(
    rf"\b(?:{_TOOL_NAMES}|tool_use|tool_result|external_content|run_context|max_tokens|system prompt|prompt systeme)\b"
    r"|\[plan\]|\b(?:job|bub|run|dlv)_\d+\b"
)
SHINGLE = 8
"""So many of our own words in a row are no accident."""


def markup_in(text: str) -> str | None:
    """What kind of markup leaked into the text. Markdown is fine: it is rendered."""
    return next((kind for pattern, kind in _MARKUP if pattern.search(text)), None)


def internal_in(text: str) -> bool:
    """The text names our tools or marks."""
    return _INTERNAL.search(fold(text)) is not None


def quotes(texts: Iterable[str], secret: str) -> bool:
    """The texts together repeat a passage of `secret`."""
    known = _shingles(secret)
    return any(shingle in known for shingle in _cut(words_of(" ".join(texts))))


@lru_cache(maxsize=8)
def _shingles(secret: str) -> frozenset[str]:
    return frozenset(_cut(words_of(secret)))


def _cut(text: str) -> list[str]:
    words = text.split()
    return [" ".join(words[at : at + SHINGLE]) for at in range(len(words) - SHINGLE + 1)]
