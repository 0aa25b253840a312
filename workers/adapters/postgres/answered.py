"""How far the contact has been answered: the count covered by the newest reply, silence or word of a person."""

from workers.adapters.postgres.locks import Locked
from workers.adapters.postgres.transaction import Transaction, sql

_COVERED = sql("""
SELECT inbound_seq FROM jobs
WHERE conversation_id = :conversation AND kind <> 'delivery' AND state IN ('sent', 'silent')
ORDER BY id DESC LIMIT 1
""")

NOTHING_LEFT = sql("""
SELECT NOT EXISTS (
  SELECT 1 FROM messages
  WHERE conversation_id = :conversation AND author = 'contact' AND deleted_at IS NULL AND seq > :covered
) AS nothing
""")


async def answered(tx: Transaction, conversation: Locked) -> int:
    """What the contact did up to this count needs no reply any more."""
    row = await tx.one(_COVERED, conversation=conversation.id)
    return max(conversation.operator_seq, row.inbound_seq if row else 0)
