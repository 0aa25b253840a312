"""A look of the clock while the database stops answering in the middle of it."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime

import pytest

from schemas.groups import QueueSettings
from schemas.jobs import Queue
from tests.fakes import FrozenClock
from tests.fakes_courier import MemoryCourier
from workers.adapters.postgres.dispatch import Admitted, Ahead
from workers.adapters.redis.board import Board
from workers.clock.look import Look

LEASE = 15.0


@dataclass
class SlowRows:
    """`hangs` names the step that takes half a minute the next time."""

    clock: FrozenClock
    hangs: str = ""
    expired: list[str] = field(default_factory=list)
    """Where leases might be ended: the queue, or nothing."""

    async def epoch(self) -> tuple[str | None, datetime]:
        self._step("epoch")
        return "e", self.clock.now()

    async def adopt(self, epoch: str) -> int:
        return 0

    async def admit(self, queue: Queue, lost_after: float | None, expire_until: datetime | None) -> Admitted:
        self.expired += [] if expire_until is None else [queue.value]
        self._step(queue.value)
        return Admitted()

    async def ahead(self, since: datetime) -> Ahead:
        return Ahead(None, waiting=False)

    async def follow_up(self) -> int:
        self._step("follow_up")
        return 0

    async def look(self, queues: Sequence[str]) -> Board:
        return Board("e", dict.fromkeys(queues, 0))

    def _step(self, name: str) -> None:
        if name == self.hangs:
            self.hangs = ""
            self.clock.move(2 * LEASE)


@pytest.mark.parametrize(
    ("hangs", "may_end"),
    [("", ["reply", "send", "background"]), ("epoch", []), ("follow_up", []), ("reply", ["reply"])],
)
async def test_a_look_in_which_the_database_hung_ends_no_lease_after_that(hangs: str, may_end: list[str]) -> None:
    """What was on its way while it hung is told so by its own time: `expire_until`."""
    clock = FrozenClock()
    rows = SlowRows(clock)
    look = Look(rows, rows, rows, MemoryCourier(), clock, QueueSettings(lease_seconds=LEASE))
    for _ in range(20):
        await look()
        clock.move(1)
    rows.expired, rows.hangs = [], hangs

    await look()

    assert rows.expired == may_end
