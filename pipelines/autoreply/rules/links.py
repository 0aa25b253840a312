"""Addresses of pages in folded text, also without `https://`."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from pipelines.text.links import spans

# Endings that are no word: « ok.merci » is a blank left out.
_PLAIN_ENDING = (
    r"com?|fr|net|org|io|tv|eu|uk|de|ch|lu|nl|pl|pt|se|jp|br|au|nz|gg|gl|ly|cc|tk|ws|xyz|biz|mobi|dev|edu|gov"
    r"|app|shop|link|vip|fans|blog|agency|xxx|porn|webcam|onl"
)
# Endings that are: only with what follows a host, or where somebody is sent to.
_WORDLY_ENDING = (
    r"me|ca|it|to|be|is|in|us|es|la|so|ai|info|site|online|store|club|page|live|cloud|tech|space|pro|world|life|love|chat|cam"
    r"|date|pics|video|photos|bio|art|one|top|fun|website|social|media|studio|sex|adult|re|nc|qc|paris"
)
_HOST = r"(?<![\w@./-])(?:[a-z0-9][a-z0-9-]{2,}\.)+"
_PATH = r"(?:/[^\s,;!?)]*)"
_BARE = re.compile(
    rf"{_HOST}(?:{_PLAIN_ENDING})\b(?!@|\.\w){_PATH}?|{_HOST}(?:{_WORDLY_ENDING}){_PATH}"
    rf"|(?:(?<=\bsur )|(?<=\bon )|(?<=\bvisit )|(?<=\bvia )|(?<=\bsite )|(?<=\bthere: )|(?<=\bici: ))"
    rf"(?:[a-z0-9][a-z0-9-]{{2,}}\.)+(?:{_WORDLY_ENDING})\b(?!@|\.\w)"
)
_DOT = r" ?(?:\(|\[)? ?(?:point|dot) ?(?:\)|\])? ?"
_SPELT_OUT = re.compile(rf"(?<![\w@./-])[a-z0-9][a-z0-9-]{{2,}}{_DOT}(?:com|fr|net|org|co|io|tv)\b")


@dataclass(frozen=True, slots=True)
class Link:
    """`address`: without scheme, `www.` and a last slash, so that two ways of writing it are equal."""

    start: int
    end: int
    address: str


def links(text: str) -> Iterator[Link]:
    taken: list[tuple[int, int]] = []
    for start, end in spans(text):
        taken.append((start, end))
        yield Link(start, end, _plain(text[start:end]))
    for pattern in (_BARE, _SPELT_OUT):
        for found in pattern.finditer(text):
            if not any(start <= found.start() < end for start, end in taken):
                yield Link(found.start(), found.end(), _plain(re.sub(_DOT, ".", found[0])))


def _plain(address: str) -> str:
    return re.sub(r"^(?:https?://)?(?:www\.)?", "", address.lower()).rstrip("/.")
