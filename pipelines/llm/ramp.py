"""After a rate limit: how many calls a model is asked when it may be asked again. One in the first step, then 2, 4, …

Whoever has to wait draws a ticket, and is told to come back in the step in which that many fit: jobs that a provider
sent away together do not all come back for the one free place.
"""

from math import floor

from schemas.llm import Model

LAST_STEP = 9
"""512 calls a step, more than anybody makes: from then on nobody is counted."""
STEPS = LAST_STEP + 1
_LATEST_TICKET_STEP = 16


class OpenGate:
    """Where nobody shares a limit: every call may go out."""

    async def wait(self, model: Model) -> float:
        return 0.0

    async def close(self, model: Model, seconds: float) -> None:
        return None


def step_at(since_open: float, width: float) -> int:
    """Which step it is, `since_open` seconds after the provider's date; negative: before it."""
    return floor(since_open / width)


def permits(step: int) -> int:
    """Calls that may go out in it."""
    return 1 << step


def come_back(ticket: int, since_open: float, width: float, chance: float) -> float:
    """Seconds to stay away, for the `ticket`-th (from 1) that was told to; `chance` in [0, 1) spreads them."""
    fits = min(ticket.bit_length() - 1, _LATEST_TICKET_STEP)
    step = max(fits, step_at(since_open, width) + 1)
    return (step + chance) * width - since_open
