"""The statements of the clock, over any table whose rows have a due time."""


def _waits(row: str) -> str:
    return f"{row}.dispatched_at IS NULL AND {row}.lease_until IS NULL AND {row}.due_at IS NOT NULL"


def _in_flight(row: str) -> str:
    return f"({row}.dispatched_at IS NOT NULL OR {row}.lease_until IS NOT NULL)"


# Ordered by due time too, as `…_due` is: no index that holds the ended rows as well will then do.
_ORGANISATIONS = """
orgs AS (
  (SELECT row.org_id FROM {table} row WHERE row.queue = :queue AND {waits}
   ORDER BY row.org_id, row.due_at LIMIT 1)
  UNION ALL
  SELECT (SELECT row.org_id FROM {table} row
           WHERE row.queue = :queue AND row.org_id > orgs.org_id AND {waits}
           ORDER BY row.org_id, row.due_at LIMIT 1)
    FROM orgs WHERE orgs.org_id IS NOT NULL
)"""


def admission(table: str) -> str:
    """One organisation after the other by the first entries of the index (a loose scan), each as far as its cap.

    The cost grows with the organisations that have something waiting, not with how much. Hints leave in turns, the
    first of every organisation before anybody's second.
    """
    return f"""
WITH RECURSIVE {_ORGANISATIONS.format(table=table, waits=_waits("row"))}, busy AS MATERIALIZED (
  SELECT org_id, count(*) AS rows FROM (
    SELECT job.org_id FROM jobs job WHERE job.queue = :queue AND {_in_flight("job")}
    UNION ALL
    SELECT delivery.org_id FROM deliveries delivery WHERE delivery.queue = :queue AND {_in_flight("delivery")}
    UNION ALL
    SELECT chore.org_id FROM chores chore WHERE chore.queue = :queue AND {_in_flight("chore")}
  ) AS all_rows GROUP BY org_id
), picked AS MATERIALIZED (
  SELECT due.id, due.turn
    FROM orgs
    JOIN organizations org ON org.id = orgs.org_id
    LEFT JOIN busy ON busy.org_id = orgs.org_id
   CROSS JOIN LATERAL (
     SELECT first.id, row_number() OVER (ORDER BY first.due_at) AS turn FROM (
       SELECT row.id, row.due_at FROM {table} row
        WHERE row.queue = :queue AND row.org_id = orgs.org_id AND {_waits("row")}
          AND row.due_at <= statement_timestamp()
        ORDER BY row.due_at
        LIMIT greatest(0, coalesce((org.spec -> 'limits' ->> 'in_flight')::int, :cap) - coalesce(busy.rows, 0))
     ) AS first
   ) AS due
   ORDER BY due.turn LIMIT :batch
), free AS (
  SELECT row.id, picked.turn FROM {table} row JOIN picked ON picked.id = row.id
   WHERE {_waits("row")} FOR NO KEY UPDATE OF row SKIP LOCKED
)
UPDATE {table} AS row SET dispatched_at = clock_timestamp()
  FROM free WHERE free.id = row.id
RETURNING row.id, row.conversation_id, free.turn, {"row.kind" if table == "chores" else "NULL"} AS kind
"""


def resend(table: str, which: str) -> str:
    """A hint was lost, or nobody took it up: the row waits for the clock again."""
    return f"""
UPDATE {table} SET dispatched_at = NULL WHERE id IN (
  SELECT row.id FROM {table} row
   WHERE row.dispatched_at IS NOT NULL AND row.lease_until IS NULL AND {which}
     FOR NO KEY UPDATE SKIP LOCKED)
"""


def expiry(table: str) -> str:
    """Only here does a lease end that nobody gave back. Claims take unleased rows only, so an old hint cannot
    reclaim what is running after the database was away for longer than a lease. A statement that was on its way
    meanwhile comes after `until`, and ends none."""
    return f"""
UPDATE {table} SET lease_until = NULL, leased_by = NULL, dispatched_at = NULL, due_at = clock_timestamp()
 WHERE id IN (
  SELECT row.id FROM {table} row
   WHERE row.lease_until < statement_timestamp() AND row.queue = :queue AND statement_timestamp() < :until
     FOR NO KEY UPDATE SKIP LOCKED)
"""


OLDER = "row.queue = :queue AND row.dispatched_at < statement_timestamp() - make_interval(secs => :seconds)"
_WAITS_ROW = _waits("row")
AHEAD = f"""
SELECT extract(epoch FROM least(
         (SELECT min(row.due_at) FROM jobs row WHERE {_WAITS_ROW} AND row.due_at > :since),
         (SELECT min(row.due_at) FROM deliveries row WHERE {_WAITS_ROW} AND row.due_at > :since),
         (SELECT min(row.due_at) FROM chores row WHERE {_WAITS_ROW} AND row.due_at > :since)
       ) - clock_timestamp())::float8 AS seconds,
       EXISTS (SELECT 1 FROM jobs row WHERE {_WAITS_ROW} AND row.due_at <= :since)
    OR EXISTS (SELECT 1 FROM deliveries row WHERE {_WAITS_ROW} AND row.due_at <= :since)
    OR EXISTS (SELECT 1 FROM chores row WHERE {_WAITS_ROW} AND row.due_at <= :since) AS waiting
"""
