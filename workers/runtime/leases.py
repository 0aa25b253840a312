"""What this process holds: one batched renewal for all of it; what is no longer ours is stopped."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from schemas.errors import Unavailable
from schemas.ids import DeliveryId, JobId
from workers.runtime.logging import logger
from workers.runtime.outage import Outage

log = logger(__name__)

Id = TypeVar("Id", JobId, DeliveryId)
Renew = Callable[
    [Sequence[tuple[JobId, int]], Sequence[tuple[DeliveryId, int]]], Awaitable[tuple[set[JobId], set[DeliveryId]]]
]
GiveBack = Callable[[], Awaitable[None]]


class LeaseLost(Exception):
    """Another worker has the row, or an operator ended it. Whatever is still to do is not ours to do."""


@dataclass(slots=True, eq=False)
class _Held:
    fence: int
    task: "asyncio.Task[Any]"
    lost: bool = False


@dataclass(slots=True)
class _Shelf(Generic[Id]):
    """The rows of one table that we hold."""

    held: dict[Id, _Held] = field(default_factory=dict)

    def sheet(self) -> list[tuple[Id, int]]:
        return [(row, held.fence) for row, held in self.held.items()]

    def drop_lost(self, asked: Sequence[tuple[Id, int]], ours: set[Id]) -> int:
        """Stop what the database says is not ours. What was taken up since we asked is left alone."""
        lost = 0
        for row, fence in asked:
            held = self.held.get(row)
            if row in ours or held is None or held.fence != fence or held.lost:
                continue
            held.lost = True
            held.task.cancel()
            lost += 1
        return lost


class Leases:
    def __init__(self, renew: Renew, every_seconds: float) -> None:
        self._renew = renew
        self._every = every_seconds
        self._jobs: _Shelf[JobId] = _Shelf()
        self._deliveries: _Shelf[DeliveryId] = _Shelf()
        self._database = Outage(log, "database", part="leases")

    def __len__(self) -> int:
        return len(self._jobs.held) + len(self._deliveries.held)

    @asynccontextmanager
    async def job(self, row: JobId, fence: int, stopped: GiveBack) -> AsyncIterator[None]:
        """Hold a job while the block runs. Raises LeaseLost when it is taken away; `stopped` is awaited when this
        process is told to stop in the middle of it."""
        async with _holding(self._jobs.held, row, fence, stopped):
            yield

    @asynccontextmanager
    async def delivery(self, row: DeliveryId, fence: int, stopped: GiveBack) -> AsyncIterator[None]:
        async with _holding(self._deliveries.held, row, fence, stopped):
            yield

    async def keep_renewing(self) -> None:
        """Runs until it is cancelled."""
        while True:
            await asyncio.sleep(self._every)
            try:
                await self.renew_once()
            except Unavailable as error:
                self._database.began(error)
            except Exception:
                log.exception("renewal_failed")
            else:
                self._database.ended()

    async def renew_once(self) -> None:
        jobs, deliveries = self._jobs.sheet(), self._deliveries.sheet()
        if not jobs and not deliveries:
            return
        our_jobs, our_deliveries = await self._renew(jobs, deliveries)
        lost = self._jobs.drop_lost(jobs, our_jobs) + self._deliveries.drop_lost(deliveries, our_deliveries)
        if lost:
            log.info("leases_lost", rows=lost)


@asynccontextmanager
async def _holding(shelf: dict[Id, _Held], row: Id, fence: int, stopped: GiveBack) -> AsyncIterator[None]:
    task = asyncio.current_task()
    if task is None:
        raise RuntimeError("a lease is held by a task")
    held = shelf[row] = _Held(fence, task)
    try:
        yield
    except asyncio.CancelledError:
        if held.lost:
            raise LeaseLost from None
        await stopped()
        raise
    finally:
        if shelf.get(row) is held:
            del shelf[row]
