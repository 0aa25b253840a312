"""Dead letters: kept when the queue brings what nobody can read, tried again, or thrown away.

A letter is settled once: its state is the guard. What it stands for is tried again in the same transaction, so a
letter that says `retried` has been.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

from pipelines.text import storable
from schemas.errors import Code, NotFound, TooLate
from schemas.ids import ConversationId, DeadLetterId, JobId, OrgId, reference
from workers.adapters.postgres import retries
from workers.adapters.postgres.audit import note
from workers.adapters.postgres.jobs import AT_REST, facts
from workers.adapters.postgres.locks import lock
from workers.adapters.postgres.transaction import Row, Transaction, sql

# The same message again is the same letter, as long as nobody has decided about it.
_UNREADABLE = sql("""
INSERT INTO dead_letters (source, code, error, attempts, payload)
VALUES ('queue', :code, :error, 1, CAST(:payload AS jsonb))
ON CONFLICT (md5(CAST(payload AS text))) WHERE source = 'queue' AND state = 'open'
DO UPDATE SET attempts = dead_letters.attempts + 1, last_seen = clock_timestamp(), error = EXCLUDED.error
""")

_LETTER = sql("""
SELECT l.state, l.source, l.org_id, l.job_id, l.delivery_id, l.code, l.payload, d.conversation_id,
       d.id IS NOT NULL AND d.candidate_id IS NULL AS tells, o.webhook_disabled_at, l.last_seen
FROM dead_letters l LEFT JOIN deliveries d ON d.id = l.delivery_id LEFT JOIN organizations o ON o.id = l.org_id
WHERE l.id = :letter AND (CAST(:org AS bigint) IS NULL OR l.org_id = :org)
""")

_TELL_AGAIN = sql(f"""
UPDATE deliveries
SET state = 'waiting', attempts = 0, crashes = 0, first_attempt_at = NULL, ended_at = NULL, error = NULL, {AT_REST},
    due_at = clock_timestamp()
WHERE id = :delivery AND state = 'failed' AND candidate_id IS NULL
""")

_RETRIED = sql("UPDATE dead_letters SET state = 'retried' WHERE id = :letter AND state = 'open'")

_SETTLED = sql("""
SELECT who, at FROM (
  SELECT who, at, 0 AS rank FROM audit_log WHERE subject = :subject AND starts_with(action, 'dead_letter.')
    AND org_id IS NOT DISTINCT FROM CAST(:org AS bigint)
  UNION ALL
  SELECT who, at, 1 FROM job_events
  WHERE job_id = CAST(:job AS bigint) AND why IN ('retry', 'regenerate') AND at >= :since
) AS told ORDER BY rank, at LIMIT 1
""")

_PURGE = sql("""
UPDATE dead_letters SET state = 'purged', payload = '{}'
WHERE id IN (SELECT id FROM dead_letters WHERE id = ANY(:letters) ORDER BY id FOR NO KEY UPDATE)
  AND state = 'open' AND (CAST(:org AS bigint) IS NULL OR org_id = :org)
RETURNING id, org_id, code
""")


@dataclass(frozen=True, slots=True)
class QueueMessage:
    """What goes back on its queue before its letter is settled."""

    queue: str
    message: str


async def keep_unreadable(tx: Transaction, queue: str, message: str, error: str, whole: bool) -> None:
    """Row of source `queue`: what came was no hint of ours. `whole`: as it is kept it can be put back."""
    payload = facts(queue=storable(queue), message=storable(message), whole=whole)
    await tx.run(_UNREADABLE, code=Code.QUEUE_MESSAGE.value, error=storable(error), payload=payload)


async def retry(tx: Transaction, org: OrgId | None, letter: DeadLetterId, who: str) -> QueueMessage | None:
    """Its job is run or delivered again, or its webhook is sent again. Answers a queue message, which is still open:
    whoever has put it back says so by `requeued`. Raises NotFound, TooLate."""
    row = await _open(tx, org, letter)
    if row.source == "queue":
        return _message(row)
    if row.tells:
        await _tell_again(tx, row)
    elif row.job_id is None:
        raise _still_open(row, "nothing is left to try again")
    else:
        await retries.retry(tx, OrgId(row.org_id), JobId(row.job_id), who)
    await tx.run(_RETRIED, letter=letter)
    await _note(tx, row.org_id, who, "dead_letter.retried", letter, code=row.code, source=row.source)
    return None


async def requeued(tx: Transaction, org: OrgId | None, letter: DeadLetterId, who: str) -> None:
    """Raises NotFound, TooLate: somebody else was faster, and it is on its queue twice, which does no harm."""
    row = await _open(tx, org, letter)
    if not await tx.run(_RETRIED, letter=letter):
        raise await _settled(tx, letter, row, "retried")
    await _note(tx, row.org_id, who, "dead_letter.retried", letter, code=row.code, source=row.source)


async def purge(tx: Transaction, org: OrgId | None, letter: DeadLetterId, who: str) -> None:
    """Raises NotFound, TooLate."""
    if not await purge_all(tx, org, [letter], who, {}):
        await _open(tx, org, letter)
        raise TooLate("purged")


async def purge_all(
    tx: Transaction, org: OrgId | None, letters: list[DeadLetterId], who: str, wanted: Mapping[str, Any]
) -> list[DeadLetterId]:
    """Those of them that were open; what they held is gone, that they were stays. `wanted` is kept in the audit log."""
    purged: list[DeadLetterId] = []
    for row in await tx.all(_PURGE, letters=letters, org=org):
        purged.append(DeadLetterId(row.id))
        await _note(tx, row.org_id, who, "dead_letter.purged", purged[-1], code=row.code, filter=dict(wanted))
    return sorted(purged, reverse=True)


async def _open(tx: Transaction, org: OrgId | None, letter: DeadLetterId) -> Row:
    row = await tx.one(_LETTER, letter=letter, org=org)
    if row is None:
        raise NotFound("no such dead letter")
    if row.state != "open":
        raise await _settled(tx, letter, row, row.state)
    return row


async def _settled(tx: Transaction, letter: DeadLetterId, row: Row, state: str) -> TooLate:
    """By whom and when: as the audit log has it, or by whoever retried its job."""
    subject = reference("dead", letter)
    found = await tx.one(_SETTLED, subject=subject, org=row.org_id, job=row.job_id, since=row.last_seen)
    by, at = (None, None) if found is None else (found.who, found.at)
    return TooLate(state, by=by, at=at)


def _still_open(row: Row, reason: str) -> TooLate:
    return TooLate("open", by="worker", at=row.last_seen, to_do="nothing, or purge it", reason=reason)


def _message(row: Row) -> QueueMessage:
    if not row.payload.get("whole"):
        raise _still_open(row, "only its outline was kept")
    return QueueMessage(row.payload["queue"], row.payload["message"])


async def _tell_again(tx: Transaction, row: Row) -> None:
    """Under the same id and with the same body."""
    if row.conversation_id is not None:
        await lock(tx, ConversationId(row.conversation_id))
    if row.webhook_disabled_at is not None:
        raise TooLate(
            "open",
            by="receiver",
            at=row.webhook_disabled_at,
            to_do="apply the Organization with a webhook that works; then retry it",
            reason="the webhook was disabled by its receiver",
        )
    if not await tx.run(_TELL_AGAIN, delivery=row.delivery_id):
        raise _still_open(row, "its webhook is on its way already")


async def _note(tx: Transaction, org: int | None, who: str, action: str, letter: DeadLetterId, **more: Any) -> None:
    await note(tx, cast(OrgId, org), who, action, reference("dead", letter), **more)
