"""A document made ready to be found: cut into passages, folded for full-text search, embedded for meaning."""

import hashlib
import json
import re
from collections.abc import Callable, Sequence

from pipelines.ports import Embedder
from pipelines.text import fold, split, storable
from pipelines.text.limits import Limit, Unit
from schemas.documents import DocumentSpec
from schemas.ids import OrgId
from schemas.memory import Passage

LONGEST = Limit(480, Unit.CODE_POINT)
"""The model averages what a text means, so a passage says one thing: it is a paragraph, or some sentences of one."""
SHORTEST = 60
"""Below this, and without the end of a sentence, a piece is a heading: it belongs to what follows it."""
MOST = 1_000
"""Passages of one document: a text of more paragraphs is packed more closely."""

_PARAGRAPHS = re.compile(r"\n[^\S\n]*\n\s*")
_SENTENCE_ENDS = (".", "!", "?", "…", "»", '"', ")", "。", "！", "？")

CONFIGS = {
    "da": "danish",
    "de": "german",
    "en": "english",
    "es": "spanish",
    "fi": "finnish",
    "fr": "french",
    "hu": "hungarian",
    "it": "italian",
    "nb": "norwegian",
    "nl": "dutch",
    "no": "norwegian",
    "pt": "portuguese",
    "ro": "romanian",
    "ru": "russian",
    "sv": "swedish",
    "tr": "turkish",
}
PLAIN = "simple"


def config_of(language: str) -> str:
    """The rules by which PostgreSQL reduces words of a language; words as they are for one it does not know."""
    return CONFIGS.get(language.split("-")[0], PLAIN)


def passages(text: str) -> list[str]:
    """Paragraphs, headings with what follows them, long ones cut where a reader pauses. Nothing of the text is lost."""
    pieces = [
        piece for paragraph in _PARAGRAPHS.split(storable(text)) for piece in split(paragraph.strip(), LONGEST) if piece
    ]
    found = _joined(pieces, _is_heading)
    if len(found) <= MOST:
        return found
    return _joined(found, lambda before, piece: len(before) + len(piece) < LONGEST.most)


def _is_heading(before: str, _: str) -> bool:
    return len(before) < SHORTEST and not before.endswith(_SENTENCE_ENDS)


def _joined(pieces: Sequence[str], belong: Callable[[str, str], bool]) -> list[str]:
    found: list[str] = []
    for piece in pieces:
        if found and belong(found[-1], piece):
            found[-1] = f"{found[-1]}\n{piece}"
        else:
            found.append(piece)
    return found


async def prepared(
    embedder: Embedder, pieces: Sequence[str], title: str = "", org: OrgId | None = None
) -> list[Passage]:
    """What is stored of each piece. The title counts for words, not for meaning: it is the same for all of them."""
    vectors = await embedder.embed([" ".join(piece.split()) for piece in pieces], org)
    return [Passage(piece, fold(f"{title} {piece}"), vector) for piece, vector in zip(pieces, vectors, strict=True)]


def fingerprint(document: DocumentSpec, model: str) -> str:
    """Changes with anything that is stored: what was said of the document, and the model that made its vectors."""
    said = document.model_dump(mode="json", exclude={"kind", "name"})
    return hashlib.sha256(json.dumps([said, model], sort_keys=True).encode()).hexdigest()
