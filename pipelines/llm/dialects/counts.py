"""Numbers of tokens as providers tell them: they become money, and rows."""

from typing import Any

MOST = 2**31


def tokens(value: Any) -> int:
    """What is left out is none. Raises ValueError for what cannot be a number of tokens."""
    if value is None:
        return 0
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < MOST:
        raise ValueError("not a number of tokens")
    return value
