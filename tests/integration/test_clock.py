"""The clock on real PostgreSQL and Redis: who is admitted, what is sent again, when a lease is over."""

import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime

import pytest
from redis import Redis
from sqlalchemy import text

from schemas.groups import QueueSettings
from schemas.jobs import AutoReply, DelayedSend, Deliver, Hint, Queue
from schemas.settings import Settings
from tests.builders_courier import LATER, Rows, rows
from tests.fakes_courier import MemoryCourier
from workers.adapters.clock import SystemClock
from workers.adapters.postgres.database import Database
from workers.adapters.postgres.dispatch import Admitted, Dispatch
from workers.adapters.postgres.dispatch_sql import admission
from workers.adapters.postgres.transitions import Transitions
from workers.adapters.redis.board import RedisBoard
from workers.clock.look import Look
from workers.clock.run import keep_looking
from workers.runtime import wire


@asynccontextmanager
async def dispatching(database_url: str, batch: int = 500) -> AsyncIterator[Dispatch]:
    database = Database(database_url, pool_size=4)
    try:
        yield Dispatch(database, batch)
    finally:
        await database.close()


@asynccontextmanager
async def looking(
    database_url: str, redis_url: str, settings: QueueSettings
) -> AsyncIterator[tuple[Look, MemoryCourier]]:
    board, courier = RedisBoard(redis_url), MemoryCourier()
    async with dispatching(database_url) as dispatch:
        follow_ups = Transitions(dispatch._db, Settings(), courier, "clock")
        yield Look(dispatch, follow_ups, board, courier, SystemClock(), settings), courier
    await board.close()


@asynccontextmanager
async def ticking(database_url: str, redis_url: str, **queue: float) -> AsyncIterator[None]:
    settings = Settings.model_validate({"database_url": database_url, "redis_url": redis_url, "queue": queue})
    stop = asyncio.Event()
    clock = asyncio.create_task(keep_looking(settings, stop))
    try:
        yield
    finally:
        stop.set()
        await clock


def organisation_of(known: Rows, hint: Hint) -> str:
    assert isinstance(hint, AutoReply)
    return str(
        known.do("SELECT o.name FROM jobs j JOIN organizations o ON o.id = j.org_id WHERE j.id = %s", hint.job)[0][0]
    )


async def hints_in(redis_url: str, queue: str, count: int, seconds: float = 5) -> None:
    deadline = time.monotonic() + seconds
    with Redis.from_url(redis_url) as redis:
        while (found := redis.llen(wire.list_key(queue))) != count:
            assert time.monotonic() < deadline, f"{found} hints in {queue}, not {count}"
            await asyncio.sleep(0.01)


async def test_each_state_gets_its_hint(database_url: str) -> None:
    with rows(database_url) as known:
        known.organisations(1)
        known.jobs("org-1", 1)
        known.jobs("org-1", 1, ago=-60)  # not due: stays
    async with dispatching(database_url) as dispatch:
        assert (await dispatch.admit(Queue.REPLY, None, expire_until=None)).hints == (AutoReply(job=1, conversation=1),)
    with rows(database_url) as known:
        known.do("UPDATE jobs SET state = 'held', queue = 'send', dispatched_at = NULL WHERE id = 1")
        known.deliveries("org-1", 1)
    async with dispatching(database_url) as dispatch:
        sent = await dispatch.admit(Queue.SEND, None, expire_until=None)

    assert sent == Admitted((Deliver(delivery=1, conversation=0), DelayedSend(job=1, conversation=1)))


async def test_one_organisations_flood_does_not_delay_anothers_reply(
    database_url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with rows(database_url) as known:
        known.organisations(51)
        known.flood("org-1", 95_000)
        known.flood("org-1", 95_000, state="sent")
        for number in range(2, 52):
            known.jobs(f"org-{number}", 20, ago=1)
        known.do("VACUUM ANALYZE jobs")
        async with dispatching(database_url) as dispatch:
            began = time.perf_counter()
            first = await dispatch.admit(Queue.REPLY, 60, expire_until=LATER)
            milliseconds = (time.perf_counter() - began) * 1000

        turns = [organisation_of(known, hint) for hint in first.hints]
        plan = await the_plan(database_url)

    with capsys.disabled():
        print(f"\nadmission of 500 out of 96,000 due rows: {milliseconds:.1f} ms")
    assert Counter(turns[:51]) == Counter(f"org-{number}" for number in range(1, 52))
    assert len(first.hints) == 500
    assert "Seq Scan on jobs" not in plan
    assert plan.count("jobs_due") >= 3


async def the_plan(database_url: str) -> str:
    database = Database(database_url, pool_size=1)
    async with database.transaction() as tx:
        lines = await tx.execute(
            text(f"EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF) {admission('jobs')}"),
            {"queue": "reply", "batch": 500, "cap": 16},
        )
        plan = "\n".join(lines.scalars())
    await database.close()
    return plan


async def test_two_clocks_admit_once_and_no_more_than_the_cap(database_url: str) -> None:
    with rows(database_url) as known:
        known.organisations(3)
        for number in (1, 2, 3):
            known.jobs(f"org-{number}", 200)
        known.do("""UPDATE organizations SET spec = '{"limits": {"in_flight": 5}}' WHERE name = 'org-2'""")
        async with dispatching(database_url) as one, dispatching(database_url) as other:
            looks = await asyncio.gather(
                *(clock.admit(Queue.REPLY, None, expire_until=None) for _ in range(10) for clock in (one, other))
            )
        admitted = [hint for look in looks for hint in look.hints]

        assert len(set(admitted)) == len(admitted)
        assert Counter(organisation_of(known, hint) for hint in admitted) == {"org-1": 16, "org-2": 5, "org-3": 16}


async def test_a_clock_leaves_a_queue_alone_while_another_is_at_it(database_url: str) -> None:
    with rows(database_url) as known, rows(database_url) as other:
        known.organisations(1)
        known.jobs("org-1", 1)
        other.do("BEGIN")
        other.do("SELECT pg_advisory_xact_lock(5142002, 0)")
        async with dispatching(database_url) as dispatch:
            shut_out = await dispatch.admit(Queue.REPLY, None, expire_until=None)
            other.do("COMMIT")
            alone = await dispatch.admit(Queue.REPLY, None, expire_until=None)

    assert (shut_out, alone) == (Admitted(), Admitted((AutoReply(job=1, conversation=1),)))


async def test_the_cap_of_a_queue_counts_jobs_and_deliveries(database_url: str) -> None:
    with rows(database_url) as known:
        known.organisations(1)
        known.deliveries("org-1", 10)
        known.jobs("org-1", 10, state="held", queue="send")
    async with dispatching(database_url) as dispatch:
        admitted = await dispatch.admit(Queue.SEND, None, expire_until=None)

    assert Counter(type(hint) for hint in admitted.hints) == {Deliver: 10, DelayedSend: 6}


async def test_after_a_flush_every_hint_is_sent_again_at_once(database_url: str, redis_url: str) -> None:
    with rows(database_url) as known:
        known.organisations(1)
        known.jobs("org-1", 10)
    async with ticking(database_url, redis_url, look_seconds=0.2):
        await hints_in(redis_url, "reply", 10)
        with Redis.from_url(redis_url) as redis:
            redis.flushdb()
        began = time.monotonic()
        await hints_in(redis_url, "reply", 10)

    assert time.monotonic() - began < 2


async def test_a_hint_that_nobody_took_up_is_sent_again(database_url: str, redis_url: str) -> None:
    with rows(database_url) as known:
        known.organisations(1)
        known.jobs("org-1", 2)
        async with looking(database_url, redis_url, QueueSettings()) as (look, courier):
            await look()
            known.do("UPDATE jobs SET dispatched_at = now() - interval '3 s' WHERE id = 1")
            await asyncio.sleep(0.5)
            await look()

    # The queue is empty and stays so: its hints are in a list of the test's own.
    assert [hint.model_dump()["job"] for hint in courier.pushed].count(1) == 2
    assert [hint.model_dump()["job"] for hint in courier.pushed].count(2) == 1


async def test_a_statement_that_comes_too_late_ends_no_lease(database_url: str) -> None:
    """It was on its way while the database was away: nobody could renew meanwhile."""
    with rows(database_url) as known:
        known.organisations(1)
        known.jobs("org-1", 1, state="running")
        known.do("UPDATE jobs SET lease_until = now() - interval '1 s', leased_by = 'alive', due_at = NULL")
        async with dispatching(database_url) as dispatch:
            late = await dispatch.admit(Queue.REPLY, None, expire_until=datetime.now(UTC))
            in_time = await dispatch.admit(Queue.REPLY, None, expire_until=LATER)

    assert (late.expired, in_time.expired) == (0, 1)


async def test_a_lease_ends_only_when_the_database_was_watched_for_as_long(database_url: str, redis_url: str) -> None:
    with rows(database_url) as known:
        known.organisations(1)
        known.jobs("org-1", 1, state="running")
        known.do("UPDATE jobs SET lease_until = now() - interval '1 h', leased_by = 'gone', due_at = NULL")
        settings = QueueSettings(lease_seconds=1, look_seconds=0.1)
        async with looking(database_url, redis_url, settings) as (look, courier):
            await look()
            await asyncio.sleep(0.5)
            await look()
            early = list(courier.pushed)
            await asyncio.sleep(0.6)
            await look()
            await asyncio.sleep(0.45)
            await look()
        row = known.do("SELECT lease_until, leased_by, state, dispatched_at IS NULL FROM jobs")

    assert (early, courier.pushed) == ([], [AutoReply(job=1, conversation=1)])
    assert row == [(None, None, "running", False)]


async def test_what_becomes_due_is_not_late(database_url: str, redis_url: str) -> None:
    with rows(database_url) as known:
        known.organisations(1)
        async with ticking(database_url, redis_url, look_seconds=0.5):
            await asyncio.sleep(0.2)
            known.jobs("org-1", 8, ago=-1.5)  # over the second from 1.5 s on
            await hints_in(redis_url, "reply", 8)
        late = known.do("SELECT max(extract(epoch FROM dispatched_at - due_at))::float8 FROM jobs")[0][0]

    assert 0 <= late < 0.2


async def test_the_clock_survives_a_database_that_goes_away(database_url: str, redis_url: str) -> None:
    with rows(database_url) as known:
        known.organisations(1)
        async with ticking(database_url, redis_url, look_seconds=0.1):
            await asyncio.sleep(0.2)
            known.do(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                " WHERE datname = current_database() AND pid <> pg_backend_pid()"
            )
            known.jobs("org-1", 3)
            await hints_in(redis_url, "reply", 3)


async def test_a_clock_folds_what_was_tallied_into_the_running_sums(database_url: str, redis_url: str) -> None:
    database = Database(database_url, pool_size=1)

    async def rows(table: str) -> int:
        async with database.transaction() as connection:
            return await connection.scalar(text(f"SELECT count(*) FROM {table}")) or 0

    async with database.transaction() as connection:
        await connection.execute(
            text("INSERT INTO audit_log (who, action, subject, facts) VALUES ('zoe', 'job.held', 'job_1', '{}')")
        )
    before = (await rows("tallies"), await rows("totals"))
    async with ticking(database_url, redis_url):
        for _ in range(100):
            if not await rows("tallies"):
                break
            await asyncio.sleep(0.05)
    after = (await rows("tallies"), await rows("totals"))
    await database.close()

    assert (before, after) == ((1, 0), (0, 1))
