"""How long one waits: between two bubbles, and between two attempts at the same one."""

from schemas.resources import Pacing

LONGEST_PAUSE = 600.0
"""Seconds. Two attempts are never further apart."""


def typing_seconds(pacing: Pacing, text: str, chance: float) -> float:
    """What a person would take to write `text`. `chance` in [0, 1) places it in the jitter."""
    steady = (pacing.base_ms + pacing.per_char_ms * len(text)) / 1000
    return steady * (1 + pacing.jitter * (2 * chance - 1))


def next_attempt_seconds(attempt: int, retry_after: float | None, chance: float) -> float:
    """The pause after attempt number `attempt` (from 1) failed: about 1, 2, 4 … s, and not before `retry_after`.

    `chance` in [0, 1) spreads it over 75 to 125 %, so that what failed together does not come back together.
    """
    doubled = 2.0 ** min(attempt - 1, 10)
    asked = max(doubled * (0.75 + chance / 2), retry_after or 0.0)
    return min(asked, LONGEST_PAUSE)
