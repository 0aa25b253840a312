"""Totals read whole tables: many scrapes in a moment cost one reading, and a long reading is not soon repeated."""

import asyncio

from sqlalchemy import text

from workers.adapters.postgres.counts import TOTALS_SECONDS, Counter
from workers.adapters.postgres.database import Database


async def test_one_reading_of_the_totals_serves_the_next_seconds(database_url: str) -> None:
    now = [100.0]
    database = Database(database_url)
    counter = Counter(database, lambda: now[0])
    first, second = await asyncio.gather(counter.counts(), counter.counts())
    async with database.transaction() as connection:
        await connection.execute(
            text(
                "INSERT INTO ledger (call, org_id, pipeline, task, fence, provider, model, state) "
                "VALUES ('1.1.1', 1, 'autoreply', 'reply', 1, 'anthropic', 'm', 'settled')"
            )
        )
    now[0] += TOTALS_SECONDS - 0.1
    soon = await counter.counts()
    now[0] += 0.1
    later = await counter.counts()
    await database.close()

    assert first.totals is second.totals is soon.totals
    assert (len(first.totals.ledger), len(later.totals.ledger)) == (0, 1)


async def test_a_reading_that_takes_long_is_not_soon_repeated(database_url: str) -> None:
    now = [100.0]

    def slow_clock() -> float:
        now[0] += 1.0  # every look at it costs a second, so a reading takes one
        return now[0]

    database = Database(database_url)
    counter = Counter(database, slow_clock)
    first = await counter.counts()
    now[0] += 15.0
    within = await counter.counts()
    now[0] += 5.0
    after = await counter.counts()
    await database.close()

    assert first.totals is within.totals
    assert after.totals is not first.totals
