"""How Redis and the clock are, for those who only report it."""

import asyncio
from collections.abc import Mapping
from typing import Any

from redis.exceptions import RedisError

from workers.adapters.redis.board import CLOCK_KEY
from workers.adapters.redis.courier import connect

PROBE_SECONDS = 1.0


class RedisProbe:
    """Make it on the event loop that uses it; `close` it there."""

    def __init__(self, url: str) -> None:
        self._client = connect(url)

    async def look(self) -> Mapping[str, Any]:
        """`{"reachable": bool, "clock_seen": bool}`; never raises. Seen: it looked within the last seconds."""
        try:
            async with asyncio.timeout(PROBE_SECONDS):
                return {"reachable": True, "clock_seen": await self._client.exists(CLOCK_KEY) == 1}
        except (RedisError, OSError, TimeoutError):
            return {"reachable": False, "clock_seen": False}

    async def close(self) -> None:
        await self._client.aclose()
