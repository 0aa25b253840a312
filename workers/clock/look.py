"""One look of the clock: find what Redis lost, end what nobody works on, admit what is due."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Protocol

from pipelines.ports import Clock, Courier
from schemas.groups import QueueSettings
from schemas.jobs import Queue
from workers.adapters.postgres.dispatch import QUEUES, Admitted, Ahead
from workers.adapters.redis.board import Board, RedisAway
from workers.clock.unbroken import Unbroken
from workers.runtime.logging import logger
from workers.runtime.outage import Outage

log = logger(__name__)

UNTAKEN_SECONDS = 2.0
"""A hint that is in no queue any more is taken up within milliseconds, or it was lost."""
UPKEEP_SECONDS = 0.4
"""Lost hints, leases and follow-ups are looked for this often, however often due rows are."""


class Rows(Protocol):
    async def epoch(self) -> tuple[str | None, datetime]: ...
    async def adopt(self, epoch: str) -> int: ...
    async def admit(self, queue: Queue, lost_after: float | None, expire_until: datetime | None) -> Admitted: ...
    async def ahead(self, since: datetime) -> Ahead: ...


class FollowUps(Protocol):
    async def follow_up(self) -> int: ...


class Boards(Protocol):
    async def look(self, queues: Sequence[str]) -> Board: ...


@dataclass(frozen=True, slots=True)
class Seen:
    """What a look found: how many hints it sent, and what lies ahead."""

    pushed: int
    ahead: Ahead


class Look:
    def __init__(
        self,
        rows: Rows,
        follow_ups: FollowUps,
        boards: Boards,
        courier: Courier,
        clock: Clock,
        settings: QueueSettings,
    ) -> None:
        self._rows = rows
        self._follow_ups = follow_ups
        self._boards = boards
        self._courier = courier
        self._clock = clock
        self._settings = settings
        self._unbroken = Unbroken(settings.lease_seconds, settings.look_seconds)
        self._upkeep_at = 0.0
        self._redis = Outage(log, "redis", part="clock")

    async def __call__(self) -> Seen:
        """Raises Unavailable when the database is away; a Redis that is away only keeps hints back."""
        board = await self._board()
        try:
            epoch, since = await self._rows.epoch()
            self._unbroken.seen(self._clock.monotonic())
            if board is not None and board.epoch != epoch:
                log.info("redis_is_new", rows=await self._rows.adopt(board.epoch))
            upkeep = self._upkeep_is_due()
            if upkeep:
                await self._follow_ups.follow_up()
            pushed = await self._queues(board, upkeep, since)
            ahead = await self._rows.ahead(since)
        except BaseException:
            self._unbroken.broken()
            raise
        self._unbroken.seen(self._clock.monotonic())
        # Without Redis nothing can be admitted, however much is due.
        return Seen(pushed, ahead if board is not None else Ahead(None, waiting=False))

    async def _board(self) -> Board | None:
        try:
            board = await self._boards.look([queue.value for queue in QUEUES])
        except RedisAway as error:
            self._redis.began(error)
            return None
        self._redis.ended()
        return board

    async def _queues(self, board: Board | None, upkeep: bool, since: datetime) -> int:
        if board is None:
            return 0
        pushed = 0
        for queue in QUEUES:
            lost_after = self._lost_after(board, queue) if upkeep else None
            admitted = await self._rows.admit(queue, lost_after, self._expire_until(since) if upkeep else None)
            await self._courier.push(admitted.hints)
            pushed += len(admitted.hints)
            _tell(queue, admitted)
        return pushed

    def _expire_until(self, since: datetime) -> datetime | None:
        """A database may stop answering in the middle of a look, and come back in it: what was seen before says
        nothing then. Asked before each step, and the step is told by its own time whether it comes too late."""
        self._unbroken.seen(self._clock.monotonic())
        return since + timedelta(seconds=self._unbroken.gap) if self._unbroken.long_enough else None

    def _lost_after(self, board: Board, queue: Queue) -> float:
        return UNTAKEN_SECONDS if board.waiting[queue.value] == 0 else self._settings.resend_seconds

    def _upkeep_is_due(self) -> bool:
        now = self._clock.monotonic()
        if now < self._upkeep_at:
            return False
        self._upkeep_at = now + UPKEEP_SECONDS
        return True


def _tell(queue: Queue, admitted: Admitted) -> None:
    if admitted.resent:
        log.warning("hints_resent", queue=queue, rows=admitted.resent)
    if admitted.expired:
        log.warning("leases_over", queue=queue, rows=admitted.expired)
