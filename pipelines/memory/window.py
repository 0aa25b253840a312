"""Which messages of a conversation a prompt holds.

A window that slides by one message changes the start of the prompt every time, and the provider's cache reads
nothing. So it moves in steps: it grows to twice its size, then is cut back to its size in one go.
"""

from collections.abc import Sequence
from itertools import accumulate

WINDOW = 15

MOST_BYTES = 320_000
"""Of a window, UTF-8: about 80,000 tokens. Beside them a prompt has room for tools, rules and a run on every model that
reads 200,000."""
LONGEST = 40_000
"""Characters of one message. What stands in between in a longer one is left out."""


def window_size(most: int) -> int:
    """The size to which a window is cut back that never holds more than `most` messages (MAX_HISTORY_MESSAGES)."""
    return max(1, most // 2)


def most_kept(size: int = WINDOW) -> int:
    """No window holds more messages than these, so no older ones need be read."""
    return 2 * size


def first_kept(shown: Sequence[int], size: int = WINDOW) -> int:
    """The position of the oldest message in the window.

    `shown` are the positions, ascending and counted from 1, of the newest messages that a prompt can hold: all, or at
    least `most_kept`. Positions are also taken by what no prompt holds (system lines, notices, what was deleted or
    never left), so the messages are counted and not the positions.

    Steps lie at the same positions for ever, and the window begins with the step that holds the newest message but
    `size`. So it holds more than `size` messages (or all) and at most twice as many, and every worker cuts alike. Where
    much else takes positions, the steps hold fewer messages.
    """
    if len(shown) <= size:
        return 1
    return (shown[-size - 1] - 1) // size * size + 1


def fitting(lengths: Sequence[int], most: int = MOST_BYTES) -> int:
    """How many of the oldest messages are left out so that the rest is no longer than `most`; the newest always stays.

    As the window's own cut, this one moves in steps, of half of what fits: a new message seldom moves it.
    """
    excess = sum(lengths) - most
    if excess <= 0:
        return 0
    step = max(1, most // 2)
    cut = -(-excess // step) * step
    before = accumulate(lengths, initial=0)
    return min(next(n for n, left_out in enumerate(before) if left_out >= min(cut, sum(lengths))), len(lengths) - 1)


def shortened(text: str, longest: int = LONGEST) -> str:
    """A text that no prompt should hold whole: its beginning and its end, and how much is left out between them."""
    if len(text) <= longest:
        return text
    half = longest // 2
    return f"{text[:half]}\n[… {len(text) - 2 * half} characters are left out …]\n{text[-half:]}"
