"""How long Redis is waited for. One that hangs costs one caller a moment, not every caller every time."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from redis.exceptions import RedisError

from pipelines.ports import Clock
from workers.runtime.outage import Outage

T = TypeVar("T")

ASK_SECONDS = 1.0
AWAY_SECONDS = 2.0
"""So long a Redis that did not answer is not asked again."""


class Patience:
    """`ask_seconds` for one question; after one without an answer, none is asked for `away_seconds`."""

    def __init__(
        self, outage: Outage, clock: Clock, ask_seconds: float = ASK_SECONDS, away_seconds: float = AWAY_SECONDS
    ) -> None:
        self._outage = outage
        self._clock = clock
        self._ask_seconds = ask_seconds
        self._away_seconds = away_seconds
        self._ask_again_at = 0.0

    async def ask(self, question: Callable[[], Awaitable[T]]) -> T | None:
        """Redis's answer; None when there is none."""
        if self._clock.monotonic() < self._ask_again_at:
            return None
        if self._outage.lasting:
            self._leave_alone()  # one caller finds out whether it is back; those beside it do not wait too
        try:
            async with asyncio.timeout(self._ask_seconds):
                answer = await question()
        except (RedisError, OSError, TimeoutError) as error:
            self._outage.began(error)
            self._leave_alone()
            return None
        self._outage.ended()
        self._ask_again_at = 0.0
        return answer

    def _leave_alone(self) -> None:
        self._ask_again_at = self._clock.monotonic() + self._away_seconds
