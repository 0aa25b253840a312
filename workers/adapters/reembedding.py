"""Embeds again what another model has embedded, a few passages at a time, beside the work of the background queue.

The rows are the state: who dies in the middle has done what it has written, and another process goes on. A passage has
its old vector until its new one is written, and is never compared with vectors of another model.
"""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Protocol

from pipelines.ports import Clock, Embedder
from schemas.errors import Unavailable
from workers.adapters.postgres.database import Database
from workers.adapters.postgres.stale import StalePassage, StalePassages
from workers.adapters.redis.turn import RedisTurn
from workers.runtime.logging import logger

log = logger(__name__)

BATCH = 64
REST = 4.0
"""Times as long as a batch took: replies are thought in the same process, and get the rest of the core. With the
built-in model 64 passages of 700 characters take 0.85 s of processor time, so about 12 a second are done."""
LOOK_SECONDS = 15.0
"""Nothing is to be done, or another process does it: looked again then."""
TOLD_EVERY = 1_000
"""Passages between two lines of progress."""


class Passages(Protocol):
    async def left(self, model: str) -> int: ...
    async def some(self, model: str, most: int) -> Sequence[StalePassage]: ...
    async def renew(
        self, model: str, passages: Sequence[StalePassage], vectors: Sequence[tuple[float, ...]]
    ) -> int: ...


class Turn(Protocol):
    async def mine(self, model: str) -> bool: ...


class Anew:
    def __init__(self, passages: Passages, embedder: Embedder, turn: Turn, batch: int = BATCH) -> None:
        self._passages = passages
        self._embedder = embedder
        self._turn = turn
        self._batch = batch
        self._done = 0
        self._told = 0

    async def keep_on(self) -> None:
        """Runs until it is cancelled."""
        time = asyncio.get_running_loop().time
        while True:
            more, began = False, time()
            try:
                more = await self.step()
            except Unavailable as error:
                log.warning("not_embedded_anew", reason=type(error).__name__)
            except Exception:
                log.exception("fault")
            await asyncio.sleep(REST * (time() - began) if more else LOOK_SECONDS)

    async def step(self) -> bool:
        """One batch. Whether there may be more for this process. Raises Unavailable."""
        model = self._embedder.name
        if not await self._turn.mine(model):
            return False
        found = await self._passages.some(model, self._batch)
        if not found:
            await self._tell(model, ended=True)
            return False
        vectors = await self._embedder.embed([" ".join(passage.text.split()) for passage in found], found[0].org)
        self._done += await self._passages.renew(model, found, vectors)
        await self._tell(model, ended=False)
        return True

    async def _tell(self, model: str, *, ended: bool) -> None:
        """Progress, and the end of it."""
        if self._done == 0 or not (ended or self._told == 0 or self._done - self._told >= TOLD_EVERY):
            return
        left = 0 if ended else await self._passages.left(model)
        log.info("passages_embedded_anew", model=model, done=self._done, left=left)
        self._told = 0 if ended else self._done
        self._done = 0 if ended else self._done


@asynccontextmanager
async def embedding_anew(
    database: Database, redis_url: str, clock: Clock, instance: str, embedder: Embedder
) -> AsyncIterator[None]:
    """It goes on while the block runs."""
    turn = RedisTurn(redis_url, clock, instance)
    going_on = asyncio.create_task(Anew(StalePassages(database), embedder, turn).keep_on())
    try:
        yield
    finally:
        going_on.cancel()
        await turn.close_connection()
