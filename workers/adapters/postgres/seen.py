"""A message id that is stored already: the first one wins, whatever the second body says."""

from pipelines.ingestion.dedupe import OTHER_BODY, fingerprint
from schemas.http import Ingested, MessageIn
from schemas.ids import OrgId, reference
from workers.adapters.postgres.transaction import Transaction, sql

_FIRST = sql("""
SELECT c.name AS conversation, m.job_id, m.reason, m.body_hash
FROM messages m JOIN conversations c ON c.id = m.conversation_id
WHERE m.org_id = :org AND m.name = :name
""")


async def answer(tx: Transaction, org: OrgId, message: MessageIn) -> Ingested | None:
    """What the first message of this id was answered, marked as a duplicate; None when the id is new."""
    first = await tx.one(_FIRST, org=org, name=message.id)
    if first is None:
        return None
    return Ingested(
        message=message.id,
        conversation=first.conversation,
        job=None if first.job_id is None else reference("job", first.job_id),
        duplicate=True,
        reason=first.reason if first.body_hash == fingerprint(message) else OTHER_BODY,
    )


async def answer_known(tx: Transaction, org: OrgId, message: MessageIn) -> Ingested:
    known = await answer(tx, org, message)
    if known is None:
        raise AssertionError(f"message {message.id!r} was seen and is not there")
    return known
