"""What the clock asks of the database: which rows are due, whose hint was lost, whose lease is over.

It knows `jobs`, `deliveries` and `chores` only by the columns that every due row has. It never waits for a row that
somebody else is changing (`SKIP LOCKED`): that row is seen at the next look, and no order of locks can be wrong.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

from schemas.jobs import AutoReply, CloseLinks, DelayedSend, Deliver, Hint, Learn, Queue, Summarize
from schemas.resources import OrganizationLimits
from workers.adapters.postgres.database import Database
from workers.adapters.postgres.dispatch_sql import AHEAD, OLDER, admission, expiry, resend

TABLES: dict[Queue, tuple[str, ...]] = {
    Queue.REPLY: ("jobs",),
    Queue.SEND: ("deliveries", "jobs"),
    Queue.BACKGROUND: ("chores",),
}
"""The tables whose rows go to a queue; what was begun (a webhook to repeat) before what is new."""

QUEUES = tuple(TABLES)
_CHORES: dict[str, type[CloseLinks | Learn | Summarize]] = {
    "close_links": CloseLinks,
    "learn": Learn,
    "summarize": Summarize,
}
_ALL = ("deliveries", "jobs", "chores")

_EPOCH = text("SELECT redis_epoch, statement_timestamp() FROM installation")
_AHEAD = text(AHEAD)
_TRY_LOCK = text("SELECT pg_try_advisory_xact_lock(:lock, :queue)")
_RESEND = {table: text(resend(table, OLDER)) for table in _ALL}
_EXPIRE = {table: text(expiry(table)) for table in _ALL}
_ADMIT = {table: text(admission(table)) for table in _ALL}

_LOCK = 5_142_002
_DEFAULT_CAP = OrganizationLimits().in_flight


@dataclass(frozen=True, slots=True)
class Admitted:
    """One queue's share of a look. None of it: another clock is at this queue."""

    hints: tuple[Hint, ...] = ()
    resent: int = 0
    expired: int = 0


@dataclass(frozen=True, slots=True)
class Ahead:
    """`seconds` until the next row is due; `waiting`: rows are due that no look has admitted."""

    seconds: float | None
    waiting: bool


class Dispatch:
    """Every method is one transaction and may raise `Unavailable`."""

    def __init__(self, database: Database, batch: int) -> None:
        self._db = database
        self._batch = batch

    async def epoch(self) -> tuple[str | None, datetime]:
        """The epoch of the Redis whose hints our rows speak of, and the time of the database."""
        async with self._db.statement() as connection:
            row = (await connection.execute(_EPOCH)).one()
        return row[0], row[1]

    async def adopt(self, epoch: str) -> int:
        """This is another Redis, or it was wiped: every hint in it is gone. Answers how many rows wait again."""
        async with self._db.transaction() as tx:
            changed = await tx.execute(
                text("UPDATE installation SET redis_epoch = :epoch WHERE redis_epoch IS DISTINCT FROM :epoch"),
                {"epoch": epoch},
            )
            if not changed.rowcount:
                return 0
            found = [await tx.execute(text(resend(table, "true"))) for table in _ALL]
            return sum(result.rowcount for result in found)

    async def admit(self, queue: Queue, lost_after: float | None, expire_until: datetime | None) -> Admitted:
        """One queue's look: hints older than `lost_after` seconds are lost, leases over are ended if it is not yet
        `expire_until`, and what is due is marked as dispatched. The caller pushes the hints; nothing else does."""
        async with self._db.transaction() as tx:
            if not await self._alone(tx, queue):
                return Admitted()
            resent = expired = 0
            hints: list[Hint] = []
            for table in TABLES[queue]:
                if lost_after is not None:
                    lost = {"queue": queue.value, "seconds": lost_after}
                    resent += (await tx.execute(_RESEND[table], lost)).rowcount
                if expire_until is not None:
                    values = {"queue": queue.value, "until": expire_until}
                    expired += (await tx.execute(_EXPIRE[table], values)).rowcount
                hints += await self._due(tx, queue, table, self._batch - len(hints))
        return Admitted(tuple(hints), resent, expired)

    async def ahead(self, since: datetime) -> Ahead:
        """`since`: the database's time when the look began; what became due after it counts as due at once."""
        async with self._db.statement() as connection:
            row = (await connection.execute(_AHEAD, {"since": since})).one()
        return Ahead(row.seconds, row.waiting)

    async def _alone(self, tx: AsyncConnection, queue: Queue) -> bool:
        """Two clocks at one queue would each see the cap's worth of free places. The lock ends with the
        transaction, so it works behind a pooler."""
        keys = {"lock": _LOCK, "queue": QUEUES.index(queue)}
        found = await tx.execute(_TRY_LOCK, keys)
        return bool(found.scalar_one())

    async def _due(self, tx: AsyncConnection, queue: Queue, table: str, batch: int) -> Sequence[Hint]:
        if batch <= 0:
            return ()
        values = {"queue": queue.value, "batch": batch, "cap": _DEFAULT_CAP}
        rows = (await tx.execute(_ADMIT[table], values)).all()
        return [_hint(queue, table, row) for row in sorted(rows, key=lambda row: row.turn)]


def _hint(queue: Queue, table: str, row: Any) -> Hint:
    conversation = row.conversation_id or 0
    if table == "deliveries":
        return Deliver(delivery=row.id, conversation=conversation)
    if table == "chores":
        return _CHORES[row.kind](chore=row.id, conversation=conversation)
    kind = AutoReply if queue is Queue.REPLY else DelayedSend
    return kind(job=row.id, conversation=conversation)
