"""How far the contact has been answered: the count covered by the newest reply, silence or word of a person."""

from workers.adapters.postgres.locks import Locked
from workers.adapters.postgres.transaction import Transaction, sql

COVERED = """COALESCE((
  SELECT aj.inbound_seq FROM jobs aj
  WHERE aj.conversation_id = :conversation AND aj.kind <> 'delivery' AND aj.state IN ('sent', 'silent')
  ORDER BY aj.id DESC LIMIT 1
), 0)"""
"""The count that the newest reply or silence covers."""

_COVERED = sql(f"SELECT {COVERED} AS covered")

NOTHING_LEFT = sql("""
SELECT NOT EXISTS (
  SELECT 1 FROM messages
  WHERE conversation_id = :conversation AND author = 'contact' AND deleted_at IS NULL AND seq > :covered
) AS nothing
""")


async def answered(tx: Transaction, conversation: Locked) -> int:
    """What the contact did up to this count needs no reply any more."""
    covered: int = (await tx.the(_COVERED, conversation=conversation.id)).covered
    return max(conversation.operator_seq, covered)
