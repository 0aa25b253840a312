"""Grapheme clusters (UAX #29): what a reader counts as one character, and no cut may break."""

import regex

# The first branch, a flag before another, is what \X finds too, but \X counts back over every flag before it:
# quadratic in a row of flags. What stands after the last flag of a row may join it, and only \X knows.
_CLUSTER = regex.compile(r"\p{RI}{2}(?=\p{RI})|\X")


def graphemes(text: str) -> list[str]:
    """The clusters of `text`, in order; joined they are the text."""
    return _CLUSTER.findall(text)


def length(text: str) -> int:
    """How many clusters `text` has."""
    return sum(1 for _ in _CLUSTER.finditer(text))


def head(text: str, most: int) -> str:
    """The first `most` clusters."""
    end = 0
    for _, found in zip(range(most), _CLUSTER.finditer(text), strict=False):
        end = found.end()
    return text[:end]
