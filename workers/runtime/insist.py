"""What must not be lost is handed to the database again and again, when it happens to be away at that moment.

An answer that was paid for, a decision, what a receiver said: thrown away, each is made a second time. Nobody can take
the row meanwhile: the clock, too, has to see the database for a whole lease before it ends one.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from schemas.errors import Unavailable
from workers.runtime.logging import logger

T = TypeVar("T")
log = logger(__name__)

PATIENCE_SECONDS = 60.0
"""Waiting is time of the run, which has 150 s by default: what an outage leaves of them must do for the rest."""
PAUSES_SECONDS = (0.2, 0.5, 1.0, 2.0)


async def until_taken(step: Callable[[], Awaitable[T]]) -> T:
    """`step` is guarded by a fence, so that one which was taken, and whose answer was lost, does nothing the second
    time. Raises its `Unavailable` when that goes on for too long."""
    now = asyncio.get_running_loop().time
    end, tries = now() + PATIENCE_SECONDS, 0
    while True:
        try:
            return await step()
        except Unavailable as error:
            if now() >= end:
                raise
            if not tries:
                log.warning("database_away", reason=error.sentence, kept="in hand")
        await asyncio.sleep(PAUSES_SECONDS[min(tries, len(PAUSES_SECONDS) - 1)])
        tries += 1
