"""Which messages of a conversation a prompt holds.

A window that slides by one message changes the start of the prompt every time, and the provider's cache reads
nothing. So it moves in steps: it grows to twice its size, then is cut back to its size in one go.
"""

from collections.abc import Sequence

WINDOW = 15


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
