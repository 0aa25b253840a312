"""How hard a conversation has become, and how much of an organisation's answers the stronger route gives."""

from pipelines.llm.routing import LOOKED_AT, MANY_TURNS
from schemas.conversation import Effort
from schemas.llm import WRITES, Task
from workers.adapters.postgres.jobs import Job
from workers.adapters.postgres.locks import Locked
from workers.adapters.postgres.transaction import Transaction, sql

LATELY = "interval '30 days'"
"""Older answers say nothing, and an organisation of which no agent has answered since is not searched through."""

_WRITES = ", ".join(f"'{task}'" for task in sorted(WRITES))

# Each part walks an index from its end and stops after a few hundred rows. A run that began a moment ago counts as soon
# as money is set aside for its first call.
_SEEN = sql(f"""
SELECT replies.n AS replies, share.strong, share.answers, coalesce(before.task = '{Task.REPLY_STRONG}', false) AS before
FROM (
  SELECT count(*) AS n FROM (
    SELECT 1 FROM jobs WHERE conversation_id = :conversation AND kind <> 'delivery' AND state = 'sent'
    LIMIT {MANY_TURNS + 1}) AS sent
) AS replies CROSS JOIN (
  SELECT count(*) FILTER (WHERE task = '{Task.REPLY_STRONG}') AS strong, count(*) AS answers FROM (
    SELECT task FROM ledger
    WHERE org_id = :org AND at > clock_timestamp() - {LATELY} AND task IN ({_WRITES}) AND job_id IS NOT NULL
    ORDER BY at DESC LIMIT {LOOKED_AT}) AS newest
) AS share LEFT JOIN LATERAL (
  SELECT s.task FROM jobs j JOIN runs r ON r.job_id = j.id JOIN run_steps s ON s.run_id = r.id
  WHERE j.conversation_id = :conversation AND j.kind <> 'delivery' AND j.id <= :job AND s.task IN ({_WRITES})
  ORDER BY j.id DESC, r.id DESC, s.n DESC LIMIT 1
) AS before ON true
""")


async def seen(tx: Transaction, conversation: Locked, job: Job) -> Effort:
    row = await tx.the(_SEEN, conversation=conversation.id, org=conversation.org, job=job.id)
    return Effort(row.replies, row.before, row.strong, row.answers)
