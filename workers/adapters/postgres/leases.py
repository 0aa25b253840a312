"""Leases are renewed in one batch per process and let go when a process is known to be dead.

These touch rows without their conversation's lock: they change who may work until when, never a state. Rows are
locked in the order of their ids, jobs before deliveries, so that no two batches wait for each other.
"""

from collections.abc import Sequence

from schemas.ids import DeliveryId, JobId
from workers.adapters.postgres.transaction import Transaction, sql

_RENEW = """
WITH mine AS (
  SELECT t.id FROM {table} t JOIN unnest(CAST(:ids AS bigint[]), CAST(:fences AS int[])) AS m (id, fence)
    ON t.id = m.id AND t.fence = m.fence
  WHERE t.state IN ({states}) ORDER BY t.id FOR NO KEY UPDATE OF t
)
UPDATE {table} t SET lease_until = clock_timestamp() + make_interval(secs => :lease), due_at = NULL
FROM mine WHERE t.id = mine.id
RETURNING t.id
"""
_RENEW_JOBS = sql(_RENEW.format(table="jobs", states="'running', 'sending'"))
_RENEW_DELIVERIES = sql(_RENEW.format(table="deliveries", states="'posting'"))

_RELEASE = """
WITH dead AS (
  SELECT id FROM {table}
  WHERE lease_until IS NOT NULL AND (leased_by = :instance OR starts_with(leased_by, :instance || '.'))
  ORDER BY id FOR NO KEY UPDATE
)
UPDATE {table} t SET lease_until = NULL, leased_by = NULL, dispatched_at = NULL, due_at = clock_timestamp()
FROM dead WHERE t.id = dead.id
"""
_RELEASE_JOBS = sql(_RELEASE.format(table="jobs"))
_RELEASE_DELIVERIES = sql(_RELEASE.format(table="deliveries"))
_RELEASE_CHORES = sql(_RELEASE.format(table="chores"))

_HOLDS = sql("SELECT leased_by = :instance AND lease_until IS NOT NULL AS held FROM jobs WHERE id = :job")


async def renew_jobs(tx: Transaction, held: Sequence[tuple[JobId, int]]) -> set[JobId]:
    rows = await tx.all(
        _RENEW_JOBS, ids=[number for number, _ in held], fences=[fence for _, fence in held], lease=tx.lease
    )
    return {JobId(row.id) for row in rows}


async def renew_deliveries(tx: Transaction, held: Sequence[tuple[DeliveryId, int]]) -> set[DeliveryId]:
    rows = await tx.all(
        _RENEW_DELIVERIES, ids=[number for number, _ in held], fences=[fence for _, fence in held], lease=tx.lease
    )
    return {DeliveryId(row.id) for row in rows}


async def release(tx: Transaction, instance: str) -> int:
    """Also what its forks held: they are called `instance.1`, `instance.2`, …"""
    jobs = await tx.run(_RELEASE_JOBS, instance=instance)
    deliveries = await tx.run(_RELEASE_DELIVERIES, instance=instance)
    return jobs + deliveries + await tx.run(_RELEASE_CHORES, instance=instance)


async def holds(tx: Transaction, instance: str, job: int) -> bool:
    row = await tx.one(_HOLDS, instance=instance, job=job)
    return row is not None and bool(row.held)
