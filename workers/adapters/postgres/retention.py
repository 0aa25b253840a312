"""An organisation keeps what was said for `retention_days`: what is older goes, a few conversations at a time.

Once a day the conversations of such an organisation are gone through in the order of their names; where the sweeper
stands is a row, so it goes on after a restart and two processes never do the same. What is too old is found by each
conversation's oldest message and oldest job, for which there is an index already: no message pays for the sweeper.
A conversation with a live job is left alone until the next day.
"""

import json
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass

from schemas.ids import OrgId
from workers.adapters.postgres import erasing, gone
from workers.adapters.postgres.transaction import Row, Transaction, sql

SLICE = 200
"""Conversations that one look goes through."""
FULL = 20
"""Of them so many are cleaned in one transaction at most."""
REST = 86_400.0
WHO = "retention"

_NEXT = sql("""
SELECT r.org_id, r.after, r.erased, CAST(o.spec ->> 'retention_days' AS int) AS days
FROM retention_passes r JOIN organizations o ON o.id = r.org_id
WHERE r.due_at <= clock_timestamp() AND o.spec ->> 'retention_days' IS NOT NULL
ORDER BY r.due_at LIMIT 1 FOR NO KEY UPDATE OF r SKIP LOCKED
""")
_BEGIN = sql("""
INSERT INTO retention_passes (org_id)
SELECT o.id FROM organizations o WHERE o.spec ->> 'retention_days' IS NOT NULL
  AND NOT EXISTS (SELECT 1 FROM retention_passes r WHERE r.org_id = o.id)
ON CONFLICT (org_id) DO NOTHING
""")
_SLICE = sql("""
WITH slice AS MATERIALIZED (
  SELECT c.id, c.name, c.created_at FROM conversations c
  WHERE c.org_id = :org AND c.name > :after ORDER BY c.name LIMIT :slice
)
SELECT s.id, s.name, (SELECT max(name) FROM slice) AS last, (SELECT count(*) FROM slice) AS looked,
       coalesce(least(m.created_at, j.created_at), s.created_at)
         < clock_timestamp() - make_interval(days => :days) AS old
FROM slice s
LEFT JOIN LATERAL (SELECT created_at FROM messages WHERE conversation_id = s.id ORDER BY position LIMIT 1) m ON true
LEFT JOIN LATERAL (SELECT created_at FROM jobs WHERE conversation_id = s.id ORDER BY id LIMIT 1) j ON true
ORDER BY s.name
""")
_LOCK = sql("""
SELECT c.id, c.contact_id, ct.name AS contact FROM conversations c JOIN contacts ct ON ct.id = c.contact_id
WHERE c.id = :conversation AND ct.erased_at IS NULL AND NOT EXISTS (
  SELECT 1 FROM jobs j WHERE j.conversation_id = c.id AND j.state IN ('queued', 'running', 'held', 'sending'))
  AND NOT EXISTS (
  SELECT 1 FROM deliveries d WHERE d.conversation_id = c.id AND (
    (d.candidate_id IS NOT NULL AND d.state IN ('posting', 'waiting'))
    OR (d.candidate_id IS NULL AND d.state IN ('posting', 'waiting'))))
FOR NO KEY UPDATE OF c SKIP LOCKED
""")
_OLD_JOBS = sql("""
SELECT id FROM (SELECT id, ended_at FROM jobs WHERE conversation_id = :conversation ORDER BY id LIMIT :batch) AS j
WHERE j.ended_at < clock_timestamp() - make_interval(days => :days)
""")
_OLD_MESSAGES = sql("""
SELECT id FROM (
  SELECT id, created_at FROM messages WHERE conversation_id = :conversation ORDER BY position LIMIT :batch) AS m
WHERE m.created_at < clock_timestamp() - make_interval(days => :days)
""")
_EMPTY = sql("""
SELECT c.contact_id, ct.name AS contact, NOT EXISTS (SELECT 1 FROM payments p WHERE p.contact_id = c.contact_id)
   AND NOT EXISTS (SELECT 1 FROM documents d WHERE d.contact_id = c.contact_id AND d.contact_id <> 0)
   AND NOT EXISTS (SELECT 1 FROM conversations o WHERE o.contact_id = c.contact_id AND o.id <> c.id)
   AND ct.locked_at IS NULL AND ct.opted_out_at IS NULL AS alone
FROM conversations c JOIN contacts ct ON ct.id = c.contact_id
WHERE c.id = :conversation
  AND coalesce(c.last_inbound_at, c.created_at) < clock_timestamp() - make_interval(days => :days)
  AND NOT EXISTS (SELECT 1 FROM messages m WHERE m.conversation_id = c.id)
  AND NOT EXISTS (SELECT 1 FROM jobs j WHERE j.conversation_id = c.id)
  AND NOT EXISTS (SELECT 1 FROM consent_records q WHERE q.conversation_id = c.id)
""")
_KEEP = sql("""
UPDATE retention_passes SET after = :after, erased = CAST(:erased AS jsonb),
  due_at = clock_timestamp() + make_interval(secs => :pause)
WHERE org_id = :org
""")


@dataclass(frozen=True, slots=True)
class Sweep:
    """What one look erased, by store, and of how many contacts nothing but a name was left."""

    org: OrgId
    rows: Counter[str]
    expired: int


async def sweep(tx: Transaction) -> Sweep | None:
    """The next few conversations of the organisation that waits longest. None: nothing is due."""
    row = await tx.one(_NEXT)
    if row is None:
        return await sweep(tx) if await tx.run(_BEGIN) else None
    found = await tx.all(_SLICE, org=row.org_id, after=row.after, slice=SLICE, days=row.days)
    old = [each for each in found if each.old]
    erased, expired, after = Counter[str](), list[str](), row.after
    for each in old[:FULL]:
        more = await _clean(tx, row, each.id, erased, expired)
        if more:
            break
        after = each.name
    else:
        if len(old) <= FULL:
            after = found[0].last if found else ""
    over = not found or (len(found) < SLICE and after == found[0].last)
    for name in expired:
        with suppress(erasing.WroteMeanwhile):
            await erasing.decide(tx, OrgId(row.org_id), name, WHO)
    await tx.run(
        _KEEP,
        org=row.org_id,
        after="" if over else after,
        erased=json.dumps(dict(Counter(row.erased) + erased)),
        pause=REST if over else 0,
    )
    await gone.tally(tx, "retention", erased)
    return Sweep(OrgId(row.org_id), erased, len(expired))


async def _clean(tx: Transaction, row: Row, conversation: int, erased: Counter[str], expired: list[str]) -> bool:
    """A batch of what is too old in one conversation. True: there is more of it."""
    if await tx.one(_LOCK, conversation=conversation) is None:
        return False
    which = {"conversation": conversation, "days": row.days}
    jobs = [job.id for job in await tx.all(_OLD_JOBS, batch=gone.JOBS, **which)]
    if jobs:
        erased += await gone.jobs(tx, row.org_id, conversation, jobs, None)
    said = [message.id for message in await tx.all(_OLD_MESSAGES, batch=gone.MESSAGES, **which)]
    if said:
        erased += await gone.messages(tx, said)
    if len(jobs) == gone.JOBS or len(said) == gone.MESSAGES:
        return True
    empty = await tx.one(_EMPTY, **which)
    if empty is not None:
        erased += await gone.conversation(tx, conversation, empty.contact_id)
        if empty.alone:
            expired.append(empty.contact)
    return False
