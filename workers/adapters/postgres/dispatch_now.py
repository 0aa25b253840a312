"""The fast path: what is due now and below the organisation's cap is marked dispatched, and pushed after commit.

Above the cap, and for everything due later, the clock admits. Both may push the same row: a claim is taken once.
"""

_IN_FLIGHT = (
    "SELECT 1 FROM {table} WHERE queue = '{queue}' AND org_id = :org "
    "AND (dispatched_at IS NOT NULL OR lease_until IS NOT NULL)"
)
_REPLY = _IN_FLIGHT.format(table="jobs", queue="reply")
_SEND = f"{_IN_FLIGHT.format(table='jobs', queue='send')} UNION ALL " + _IN_FLIGHT.format(
    table="deliveries", queue="send"
)
_MARK = "CASE WHEN :fast AND (SELECT count(*) FROM ({rows} LIMIT :cap) AS f) < :cap THEN clock_timestamp() END"

DISPATCHED_REPLY = _MARK.format(rows=_REPLY)
"""SQL for `dispatched_at` of a job on queue `reply`; binds `fast`, `org` and `cap`."""

DISPATCHED_SEND = _MARK.format(rows=_SEND)
"""The same for queue `send`, whose flights are jobs and deliveries together."""
