"""Puts what third parties wrote between tags, so that no text of theirs can end the tag and speak as us."""

import html
import re
import unicodedata
from collections.abc import Iterator
from enum import StrEnum
from html.entities import html5
from urllib.parse import unquote

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

LAYERS = 6
"""How many disguises over one another are looked through. A reader that sees through more does not exist."""

_OPENERS = frozenset("<‹〈⟨❬❮⧼")
_HARMLESS = re.compile(r"[^<&%\\＜﹤＆﹠％﹪＼﹨" + "".join(sorted(_OPENERS)) + "]*")
"""Nearly every message: nothing in it could open a tag, nor stand for a character that does."""

# What a lenient reader takes for a character: an entity, a percent-encoding, an escape of JSON and its like. The `<`
# comes first, as it is read even where the name or number goes on.
_ESCAPE = re.compile(
    r"&(?:amp;?)*(?P<lt>lt|#0*60|#x0*3c);?"
    r"|&(?:amp;?)*(?P<entity>#x[0-9a-f]{1,8}|#[0-9]{1,8}|[a-z][a-z0-9]{1,30});?"
    r"|(?P<percent>(?:%(?:25)*[0-9a-f]{2})+)"
    r"|\\(?:u\{0*(?P<braced>[0-9a-f]{1,6})\}|u(?P<four>[0-9a-f]{4})|x(?P<two>[0-9a-f]{2})|0*(?P<octal>74)"
    r"|(?P<blank>[nrtbf0]))"
)
_ENTITIES = {name.rstrip(";").casefold(): meant for name, meant in html5.items()}
_ENTITIES |= {name.rstrip(";"): meant for name, meant in html5.items() if name.islower()}
_NAMES = "|".join(f"{tag[0]}?{tag[1:]}".replace("_", "[-_]?") for tag in RESERVED)
"""The first letter may have gone as one of an escape: a backslash may also stand for the slash."""
_FAKE = re.compile(rf"<[/\\]*(?:[a-z0-9.-]{{1,30}}:)?(?:{_NAMES})")

_Seen = tuple[str, list[int], list[int]]
"""Text as a reader takes it, and of each character where what it stands for begins and ends."""


def wrapped(source: Source, text: str) -> str:
    """`text` as external content of that type, tags inside it made harmless."""
    return f'<external_content type="{source.value}">\n{neutralised(text)}\n</external_content>'


def neutralised(text: str) -> str:
    """Every disguise of a reserved tag loses its opening bracket: any case, spacing, entities, percent-encoding,
    escapes, these over one another, a namespace before the name, full-width letters, characters without width. All
    other text stays as it is."""
    text = storable(text)
    if _HARMLESS.fullmatch(text):
        return text
    shadow, starts, ends = _seen_as(text)
    out, end = [], 0
    for match in _FAKE.finditer(shadow):
        out += [text[end : starts[match.start()]], "["]
        end = ends[match.start()]
    return "".join([*out, text[end:]])


def _seen_as(text: str) -> _Seen:
    seen = _folded((char, at, at + 1) for at, char in enumerate(text))
    for _ in range(LAYERS):
        if _ESCAPE.search(seen[0]) is None:
            break
        seen = _folded(_unescaped(*seen))
    return seen


def _folded(chars: Iterator[tuple[str, int, int]]) -> _Seen:
    """Compatibility forms and case made one, brackets too; what has no width, and all white space, left out."""
    shadow, starts, ends = [], [], []
    for char, start, end in chars:
        for plain in unicodedata.normalize("NFKC", char).casefold():
            if not _invisible(plain):
                shadow.append("<" if plain in _OPENERS else plain)
                starts.append(start)
                ends.append(end)
    return "".join(shadow), starts, ends


def _unescaped(shadow: str, starts: list[int], ends: list[int]) -> Iterator[tuple[str, int, int]]:
    at = 0
    for match in _ESCAPE.finditer(shadow):
        begin = match.start()
        yield from zip(shadow[at:begin], starts[at:begin], ends[at:begin], strict=True)
        at = match.end()
        for char in _meant(match):
            yield char, starts[begin], ends[at - 1]
    yield from zip(shadow[at:], starts[at:], ends[at:], strict=True)


def _meant(escape: re.Match[str]) -> str:
    if escape["lt"] or escape["octal"]:
        return "<"
    if escape["entity"]:
        return _ENTITIES.get(escape["entity"]) or html.unescape(f"&{escape['entity']};")
    if escape["percent"]:
        return unquote(re.sub("%(?:25)+", "%", escape["percent"]), errors="replace")
    code = escape["braced"] or escape["four"] or escape["two"]
    return "" if code is None else chr(min(int(code, 16), 0x10FFFF))


def _invisible(char: str) -> bool:
    return char.isspace() or unicodedata.category(char) in ("Cf", "Cc", "Mn")
