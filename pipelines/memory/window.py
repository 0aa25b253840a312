"""Which messages of a conversation a prompt holds.

A window that slides by one message changes the start of the prompt every time, and the provider's cache reads
nothing. So it moves in steps: it grows to twice its size, then is cut back to its size in one go.
"""

WINDOW = 15


def first_kept(last_position: int, size: int = WINDOW) -> int:
    """The position of the oldest message in the window, when the newest has `last_position` (both count from 1).

    The window holds at least `size` messages (all of them while there are fewer) and at most `2 * size`. The answer
    depends on the position alone, so every worker cuts at the same place.
    """
    if last_position <= 2 * size:
        return 1
    return (last_position - 1) // size * size - size + 1
