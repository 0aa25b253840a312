"""Whether a bubble was said before, word for word or nearly."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from pipelines.autoreply.words import words_of

NEAR = 0.85
"""Share of common letter triples (Dice) from which two texts are the same sentence with a word changed."""

MIN_NEAR_LENGTH = 16
"""Below this, near is meaningless: "super oui" and "super non" share most of their letters."""


@dataclass(slots=True)
class Sayings:
    """Texts as they are compared, each folded once: a run asks for the same ones with every bubble. It belongs to one
    run and ends with it, so that no process remembers what was said to whom."""

    _keys: dict[str, str] = field(default_factory=dict)
    _triples: dict[str, frozenset[str]] = field(default_factory=dict)

    def is_repeat(self, text: str, earlier: Iterable[str]) -> bool:
        key = self._key(text)
        return any(self._alike(key, self._key(other)) for other in earlier)

    def _alike(self, one: str, other: str) -> bool:
        if one == other:
            return True
        if min(len(one), len(other)) < MIN_NEAR_LENGTH:
            return False
        mine, theirs = self._triples_of(one), self._triples_of(other)
        most = 2 * min(len(mine), len(theirs)) / (len(mine) + len(theirs))
        return most >= NEAR and 2 * len(mine & theirs) / (len(mine) + len(theirs)) >= NEAR

    def _key(self, text: str) -> str:
        """Words only; a text without words (an emoji) stands for itself."""
        if text not in self._keys:
            self._keys[text] = words_of(text) or text.strip()
        return self._keys[text]

    def _triples_of(self, key: str) -> frozenset[str]:
        if key not in self._triples:
            self._triples[key] = frozenset(key[at : at + 3] for at in range(len(key) - 2))
        return self._triples[key]
