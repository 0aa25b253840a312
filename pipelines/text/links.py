"""Where a bare address begins and ends in running text."""

from collections.abc import Iterator

import regex

# Scripts that run words together, or set no space before a link, may stand right before one.
ADDRESS = r"(?<![\p{Script=Latin}\p{N}_@])(?:https?://|www\.)[^\s<>\"«»“”`\\^{}|]+"
_ADDRESS = regex.compile(ADDRESS, regex.IGNORECASE)
_TAIL = "?!.,:;*_~'’\"…)]。、，！？،؟"
_BRACKETS = {")": "(", "]": "["}


def spans(text: str) -> Iterator[tuple[int, int]]:
    """Start and end of each address that a channel would make a link, without the punctuation around it."""
    for found in _ADDRESS.finditer(text):
        yield found.start(), found.start() + len(trimmed(found[0]))


def trimmed(address: str) -> str:
    """Without closing punctuation, unless it closes a bracket of the address itself."""
    end = len(address)
    # Counted once: a long row of closing brackets must not cost the square of its length.
    surplus = {close: address.count(close) - address.count(open_) for close, open_ in _BRACKETS.items()}
    while end and (last := address[end - 1]) in _TAIL:
        if last in surplus:
            if surplus[last] <= 0:
                break
            surplus[last] -= 1
        end -= 1
    return address[:end]
