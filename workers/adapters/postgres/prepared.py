"""True replies lie ready beside a job that a person must answer (AR-531). They are sent when somebody approves them."""

from collections.abc import Sequence

from schemas.decisions import Bubble
from schemas.jobs import DelayedSend
from workers.adapters.postgres.dispatch_now import DISPATCHED_SEND
from workers.adapters.postgres.jobs import EVENT, NO_COMPLAINT, Job
from workers.adapters.postgres.locks import Locked
from workers.adapters.postgres.transaction import Transaction, sql

_KEEP = sql("""
INSERT INTO candidates (org_id, job_id, conversation_id, ordinal, kind, state, text)
SELECT :org, :job, :conversation, b.ordinal - 1, b.kind, 'held', b.text
FROM unnest(CAST(:kinds AS text[]), CAST(:texts AS text[])) WITH ORDINALITY AS b (kind, text, ordinal)
""")

READY = "EXISTS (SELECT 1 FROM candidates pk WHERE pk.job_id = :job AND pk.state = 'held' AND pk.kind <> 'notice')"

_SEND = sql(f"""
WITH sending AS (
  UPDATE jobs
  SET state = 'sending', queue = 'send', {NO_COMPLAINT}, ended_at = NULL, crashes = 0,
      tries = 0, inbound_seq = :seq, fence = fence + 1, due_at = clock_timestamp(),
      dispatched_at = {DISPATCHED_SEND}
  WHERE id = :job AND state = 'failed' AND fence = :fence AND {READY}
  RETURNING id, dispatched_at
), told AS ({EVENT.format(of="sending", frm="'failed'", to="'sending'")})
SELECT dispatched_at IS NOT NULL AS dispatched FROM sending
""")


async def keep(tx: Transaction, conversation: Locked, job: Job, bubbles: Sequence[Bubble]) -> None:
    await tx.run(
        _KEEP,
        org=conversation.org,
        job=job.id,
        conversation=conversation.id,
        kinds=[bubble.kind.value for bubble in bubbles],
        texts=[bubble.text for bubble in bubbles],
    )


async def send(tx: Transaction, conversation: Locked, job: Job, who: str) -> bool:
    """False: nothing lies ready. The newest job of a conversation that the AI may answer, checked by the caller."""
    row = await tx.one(
        _SEND,
        org=conversation.org,
        conversation=conversation.id,
        job=job.id,
        fence=job.fence,
        seq=conversation.inbound_seq,
        fast=True,
        cap=conversation.organization.spec.limits.in_flight,
        who=who,
        why="prepared_reply",
        facts=None,
    )
    if row is not None and row.dispatched:
        tx.hints.append(DelayedSend(conversation=conversation.id, job=job.id))
    return row is not None
