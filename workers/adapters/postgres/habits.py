"""When a contact writes: what the best hour for writing first is learned from."""

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import text

from schemas.ids import ContactId
from workers.adapters.postgres.database import Database

DAYS = 90
"""How far back a habit counts: older hours were another season, another job, another time zone."""

CONVERSATIONS = 20
"""The newest of the contact's."""

MESSAGES = 1000
"""The newest of each conversation, whoever wrote them: what is read has a bound, however long they have talked."""

# Each conversation is read backwards from its end, by the index on its positions.
_WRITTEN = text(f"""
SELECT m.created_at FROM (
  SELECT id FROM conversations WHERE contact_id = :contact
  ORDER BY last_inbound_at DESC NULLS LAST LIMIT {CONVERSATIONS}
) AS c CROSS JOIN LATERAL (
  SELECT author, created_at, deleted_at FROM messages WHERE conversation_id = c.id
  ORDER BY position DESC LIMIT {MESSAGES}
) AS m
WHERE m.author = 'contact' AND m.deleted_at IS NULL
  AND m.created_at > clock_timestamp() - make_interval(days => {DAYS})
""")


class StoredHabits:
    def __init__(self, database: Database) -> None:
        self._db = database

    async def written(self, contact: ContactId) -> Sequence[datetime]:
        """Raises `Unavailable`."""
        async with self._db.transaction() as connection:
            return list(await connection.scalars(_WRITTEN, {"contact": contact}))
