"""Whether a bubble was said before, word for word or nearly."""

from collections.abc import Iterable
from functools import lru_cache

from pipelines.autoreply.words import words_of

NEAR = 0.85
"""Share of common letter triples (Dice) from which two texts are the same sentence with a word changed."""

MIN_NEAR_LENGTH = 16
"""Below this, near is meaningless: "super oui" and "super non" share most of their letters."""


def is_repeat(text: str, earlier: Iterable[str]) -> bool:
    key = _key(text)
    return any(_alike(key, _key(other)) for other in earlier)


def _alike(one: str, other: str) -> bool:
    if one == other:
        return True
    if min(len(one), len(other)) < MIN_NEAR_LENGTH:
        return False
    mine, theirs = _triples(one), _triples(other)
    most = 2 * min(len(mine), len(theirs)) / (len(mine) + len(theirs))
    return most >= NEAR and 2 * len(mine & theirs) / (len(mine) + len(theirs)) >= NEAR


@lru_cache(maxsize=4096)
def _key(text: str) -> str:
    """Words only; a text without words (an emoji) stands for itself."""
    return words_of(text) or text.strip()


@lru_cache(maxsize=4096)
def _triples(key: str) -> frozenset[str]:
    return frozenset(key[at : at + 3] for at in range(len(key) - 2))
