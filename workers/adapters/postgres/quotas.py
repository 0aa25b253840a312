"""Plans: a run takes a place of its organisation's month before it thinks, and without one the job fails, AR-540.

The place is taken in the statement that opens the run, the last one of the claim, so that the row that all runs of an
organisation share is locked for that statement and the commit. Giving places back is a trigger's (migration 0009):
whatever ends a job without a reply does it.
"""

from dataclasses import replace
from typing import Any

from pipelines.delivery import bodies
from pipelines.llm.plans import Plan, plan_of
from schemas.agent import TraceItem, TraceKind
from schemas.claims import JobState
from schemas.errors import Code
from workers.adapters.postgres import failures
from workers.adapters.postgres.jobs import Job
from workers.adapters.postgres.ledger import MONTH
from workers.adapters.postgres.locks import Locked
from workers.adapters.postgres.transaction import Transaction, sql
from workers.adapters.postgres.webhooks import insert_for

PLACE = f"""
holds AS (
  SELECT quota_month IS NOT NULL AS place FROM jobs WHERE id = :job
), counted AS (
  INSERT INTO quota_counts AS q (org_id, month, used)
  SELECT :org, {MONTH}, 1 FROM holds WHERE :planned AND NOT place AND CAST(:quota AS int) IS DISTINCT FROM 0
  ON CONFLICT (org_id, month) DO UPDATE SET used = q.used + 1
  WHERE q.used < CAST(:quota AS int) OR CAST(:quota AS int) IS NULL
  RETURNING month
), may AS (
  SELECT NOT :planned OR holds.place OR EXISTS (SELECT 1 FROM counted) AS run FROM holds
)"""
"""Part of the statement that opens a run; `may.run` says whether it may. A job holds one place, however often it is
begun anew."""

_USED = sql(f"""
SELECT coalesce(max(q.used), 0) AS used, {MONTH} AS month,
       coalesce(max(q.told), -1) <> :quota AS untold
FROM (SELECT used, told FROM quota_counts WHERE org_id = :org AND month = {MONTH}) AS q
""")

_TOLD = sql(f"""
WITH told AS (
  INSERT INTO quota_counts AS q (org_id, month, told) VALUES (:org, {MONTH}, :quota)
  ON CONFLICT (org_id, month) DO UPDATE SET told = excluded.told WHERE q.told IS DISTINCT FROM excluded.told
  RETURNING month
), raised AS ({insert_for("told", bodies.QUOTA_EXCEEDED, "body")})
SELECT count(*) AS told FROM told
""")

_KEEP_RUN = sql("INSERT INTO runs (job_id, inbound_seq) VALUES (:job, :seq)")


def plan(tx: Transaction, conversation: Locked) -> Plan | None:
    return plan_of(conversation.organization.spec, tx.settings.plans)


def place(tx: Transaction, conversation: Locked) -> dict[str, Any]:
    """The values of `PLACE`, besides `org` and `job`."""
    found = plan(tx, conversation)
    return {
        "planned": found is not None,
        "quota": None if found is None else found.replies,
        "zone": conversation.organization.spec.timezone,
    }


async def refuse(tx: Transaction, conversation: Locked, job: Job, fence: int, seq: int) -> None:
    """No place is left: the job, claimed under `fence`, fails; the organisation is told once for each limit."""
    found = plan(tx, conversation)
    if found is None or found.replies is None:
        raise AssertionError(f"job {job.id} was refused a place that is not limited")
    zone, quota = conversation.organization.spec.timezone, found.replies
    row = await tx.the(_USED, org=conversation.org, zone=zone, quota=quota)
    facts = {"plan": found.name, "used": row.used, "limit": quota, "month": f"{row.month:%Y-%m}"}
    rule = f"plan {found.name}: {row.used} of {quota} AI replies of {row.month:%Y-%m} are used or being written"
    await tx.run(_KEEP_RUN, job=job.id, seq=seq)
    item = TraceItem(0, TraceKind.GUARD, conversation.now, {"code": Code.QUOTA.value, "rule": rule, **facts})
    claimed = replace(job, state=JobState.RUNNING, fence=fence, claims=job.claims + 1, seq=seq)
    await failures.fail(tx, conversation, claimed, Code.QUOTA, "quota_exceeded", rule, trace=(item,), facts=facts)
    if row.untold:
        body = bodies.quota_exceeded(conversation.organization.name, facts, conversation.now)
        await tx.the(
            _TOLD, org=conversation.org, zone=zone, quota=quota, body=body, conversation=conversation.id, job=job.id
        )
