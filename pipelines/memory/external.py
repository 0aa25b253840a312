"""Puts what third parties wrote between tags, so that no text of theirs can end the tag and speak as us."""

import html
import re
import unicodedata
from collections.abc import Iterator
from enum import StrEnum

from pipelines.text import storable


class Source(StrEnum):
    EMAIL_BODY = "email_body"
    MESSAGE = "message"
    MEMO = "memo"
    DESCRIPTION = "description"
    KNOWLEDGE = "knowledge"
    INFO_REQUEST = "info_request"
    DOCUMENT = "document"
    MEMORY = "memory"
    PROFILE = "profile"
    WEB = "web"
    ERROR = "error"


RESERVED = ("external_content", "run_context")
"""Tags that only we may write into a prompt."""

_ENTITY = re.compile(r"&(?:amp;)*(#x[0-9a-f]{1,8}|#[0-9]{1,8}|[a-z][a-z0-9]{1,30});?", re.IGNORECASE)
_OPENERS = frozenset("<‹〈⟨❬❮⧼")
_HARMLESS = re.compile("[^<&＜﹤" + "".join(sorted(_OPENERS)) + "]*")
"""Nearly every message: nothing in it could open a tag."""

_FAKE = re.compile("<[/\\\\]*(?:" + "|".join(tag.replace("_", "[-_]?") for tag in RESERVED) + ")")


def wrapped(source: Source, text: str) -> str:
    """`text` as external content of that type, tags inside it made harmless."""
    return f'<external_content type="{source.value}">\n{neutralised(text)}\n</external_content>'


def neutralised(text: str) -> str:
    """Every disguise of a reserved tag loses its opening bracket: any case, spacing, entities, full-width letters,
    characters without width. All other text stays as it is."""
    text = storable(text)
    if _HARMLESS.fullmatch(text):
        return text
    seen = list(_seen_as(text))
    shadow = "".join(char for char, _, _ in seen)
    out, end = [], 0
    for match in _FAKE.finditer(shadow):
        _, start, stop = seen[match.start()]
        out += [text[end:start], "["]
        end = stop
    return "".join([*out, text[end:]])


def _seen_as(text: str) -> Iterator[tuple[str, int, int]]:
    """Each character as a lenient reader takes it, with the span it stands for: (character, start, end)."""
    at = 0
    while at < len(text):
        match = _ENTITY.match(text, at) if text[at] == "&" else None
        end = match.end() if match else at + 1
        meant = html.unescape(f"&{match[1]};") if match else text[at]
        for char in unicodedata.normalize("NFKC", meant).casefold():
            if char in _OPENERS:
                yield "<", at, end
            elif not _invisible(char):
                yield char, at, end
        at = end


def _invisible(char: str) -> bool:
    return char.isspace() or unicodedata.category(char) in ("Cf", "Cc", "Mn")
