"""Wrong keys of an address, counted over all gateways for a minute from the first."""

from hashlib import sha256

from pipelines.ports import Clock
from workers.adapters.redis.courier import connect
from workers.adapters.redis.patience import Patience
from workers.runtime.logging import logger
from workers.runtime.outage import Outage

log = logger(__name__)

WINDOW_MS = 60_000


def key_of(address: str) -> str:
    """An address may be whatever a proxy was told, and whose it is is nobody's business here."""
    return f"replique:wrong_keys:{sha256(address.encode()).hexdigest()}"


class RedisWrongKeys:
    """Make it on the event loop that uses it; `close` it there."""

    def __init__(self, url: str, clock: Clock) -> None:
        self._client = connect(url)
        self._patience = Patience(Outage(log, "redis", part="wrong_keys"), clock)

    async def count(self, address: str) -> tuple[int, float] | None:
        """One more: how many there are now, and in how many seconds they are forgotten. None: Redis does not answer."""
        key = key_of(address)
        async with self._client.pipeline(transaction=True) as step:
            step.set(key, 0, px=WINDOW_MS, nx=True)
            step.incr(key)
            step.pttl(key)
            found = await self._patience.ask(step.execute)
        return None if found is None else (int(found[1]), max(int(found[2]), 0) / 1000)

    async def close(self) -> None:
        await self._client.aclose()
