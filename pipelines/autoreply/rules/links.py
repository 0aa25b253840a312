"""Addresses of pages in folded text, also without `https://`."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from pipelines.text.links import spans

_BARE = re.compile(
    r"(?<![\w@./-])(?:[a-z0-9][a-z0-9-]{2,}\.)+(?:com|fr|net|org|io|tv|app|shop|link|vip)\b(?!@"
    r"|\.\w)(?:/[^\s,;!?)]*)?"
)


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
    for found in _BARE.finditer(text):
        if not any(start <= found.start() < end for start, end in taken):
            yield Link(found.start(), found.end(), _plain(found[0]))


def _plain(address: str) -> str:
    return re.sub(r"^(?:https?://)?(?:www\.)?", "", address.lower()).rstrip("/.")
