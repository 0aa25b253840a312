"""What a process holds: renewed in one batch, stopped when lost, given back when stopped."""

import asyncio
from collections.abc import Sequence

import pytest

from schemas.errors import Unavailable
from schemas.ids import DeliveryId, JobId
from workers.runtime.leases import LeaseLost, Leases


class Rows:
    """Knows what is still ours."""

    def __init__(self, *lost: int) -> None:
        self.lost = set(lost)
        self.asked: list[tuple[list[tuple[JobId, int]], list[tuple[DeliveryId, int]]]] = []
        self.fails = 0

    async def renew(
        self, jobs: Sequence[tuple[JobId, int]], deliveries: Sequence[tuple[DeliveryId, int]]
    ) -> tuple[set[JobId], set[DeliveryId]]:
        self.asked.append((list(jobs), list(deliveries)))
        if self.fails:
            self.fails -= 1
            raise Unavailable("the database does not answer")
        return {row for row, _ in jobs if row not in self.lost}, {row for row, _ in deliveries if row not in self.lost}


async def nothing() -> None:
    raise AssertionError("nobody told this process to stop")


async def test_everything_is_renewed_in_one_batch_and_nothing_when_nothing_is_held() -> None:
    rows = Rows()
    leases = Leases(rows.renew, 5)

    await leases.renew_once()
    async with (
        leases.job(JobId(1), 3, nothing),
        leases.job(JobId(2), 1, nothing),
        leases.delivery(DeliveryId(1), 7, nothing),
    ):
        await leases.renew_once()
    await leases.renew_once()

    assert rows.asked == [([(JobId(1), 3), (JobId(2), 1)], [(DeliveryId(1), 7)])]


async def test_what_is_lost_is_stopped_and_what_is_ours_goes_on() -> None:
    leases = Leases(Rows(1).renew, 5)

    async def hold(number: int) -> str:
        async with leases.job(JobId(number), 1, nothing):
            await asyncio.sleep(0.05)
        return "done"

    tasks = [asyncio.create_task(hold(number)) for number in (1, 2)]
    await asyncio.sleep(0)
    await leases.renew_once()
    lost, ours = await asyncio.gather(*tasks, return_exceptions=True)

    assert (type(lost), ours, len(leases)) == (LeaseLost, "done", 0)


async def test_a_row_taken_up_again_since_the_question_was_asked_is_left_alone() -> None:
    rows = Rows(1)
    leases = Leases(rows.renew, 5)

    async with leases.job(JobId(1), 1, nothing):
        asked = leases._jobs.sheet()
    async with leases.job(JobId(1), 2, nothing):
        assert leases._jobs.drop_lost(asked, set()) == 0


async def test_a_stop_gives_back_before_it_ends() -> None:
    leases = Leases(Rows().renew, 5)
    told: list[str] = []

    async def give_back() -> None:
        await asyncio.sleep(0)
        told.append("given back")

    async def hold() -> None:
        async with leases.job(JobId(1), 1, give_back):
            await asyncio.sleep(10)

    task = asyncio.create_task(hold())
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task

    assert (told, len(leases)) == (["given back"], 0)


async def test_renewing_goes_on_after_the_database_was_away() -> None:
    rows = Rows()
    rows.fails = 2
    leases = Leases(rows.renew, 0.01)

    async with leases.job(JobId(1), 1, nothing):
        renewing = asyncio.create_task(leases.keep_renewing())
        while len(rows.asked) < 4:
            await asyncio.sleep(0.01)
        renewing.cancel()

    assert rows.asked[3] == ([(JobId(1), 1)], [])
