"""Counts now and then how fast the contacts of each persona write."""

from sqlalchemy import text

from pipelines.memory.pace import BRISK_SECONDS, HOUR, brisk
from workers.adapters.postgres.database import Database

AGAIN_SECONDS = 3_600
AT_ONCE = 20
"""Personas of one count, those that waited longest first."""
CONVERSATIONS = 30
MESSAGES = 240
"""Of each persona the newest conversations, of each of these the newest messages: what a count costs does not grow."""

# A turn of the contact begins with the message that follows one of ours; a gap lies between two turns' beginnings.
COUNT = text(f"""
SELECT p.id, p.brisk, counted.quick, counted.within_hour FROM (
  SELECT id, brisk FROM personas
  WHERE paced_at IS NULL OR paced_at < clock_timestamp() - make_interval(secs => {AGAIN_SECONDS})
  ORDER BY paced_at NULLS FIRST LIMIT {AT_ONCE}
) p
CROSS JOIN LATERAL (
  SELECT count(*) FILTER (WHERE g.gap <= {BRISK_SECONDS}) AS quick,
         count(*) FILTER (WHERE g.gap <= {HOUR}) AS within_hour
  FROM (SELECT id FROM conversations WHERE persona_id = p.id ORDER BY id DESC LIMIT {CONVERSATIONS}) c
  CROSS JOIN LATERAL (
    SELECT extract(epoch FROM b.created_at - lag(b.created_at) OVER (ORDER BY b.position)) AS gap FROM (
      SELECT t.position, t.created_at, t.author, lag(t.author) OVER (ORDER BY t.position) AS before FROM (
        SELECT m.position, m.created_at, m.author FROM messages m
        WHERE m.conversation_id = c.id AND m.author IN ('contact', 'ai') ORDER BY m.position DESC LIMIT {MESSAGES}
      ) t
    ) b WHERE b.author = 'contact' AND b.before = 'ai'
  ) g
) counted
""")
_SET = text(
    "UPDATE personas p SET brisk = n.brisk, paced_at = clock_timestamp() "
    "FROM unnest(CAST(:ids AS bigint[]), CAST(:brisk AS boolean[])) AS n (id, brisk) WHERE p.id = n.id"
)


class Paces:
    def __init__(self, database: Database) -> None:
        self._db = database

    async def count(self) -> int:
        """Of the personas that were not counted within the hour; answers how many. Two clocks that count at once find
        the same. Raises `Unavailable`."""
        async with self._db.transaction() as connection:
            rows = (await connection.execute(COUNT)).all()
            if rows:
                found = [brisk(row.quick, row.within_hour, before=row.brisk) for row in rows]
                await connection.execute(_SET, {"ids": [row.id for row in rows], "brisk": found})
        return len(rows)
