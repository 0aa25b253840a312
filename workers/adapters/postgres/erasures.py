"""What an erasure still has to do: batch after batch, each one transaction, until nothing of the contact is found.

Nothing is remembered between batches but counts: every batch looks for what is there. So it goes on after a crash, and
whatever a late worker wrote meanwhile is found by the last look.
"""

import json
from collections import Counter
from dataclasses import dataclass

from schemas.errors import NotFound
from schemas.ids import ErasureId, OrgId, reference
from schemas.rights import ErasureOut, ErasureState, StoreReceipt, StoreState
from workers.adapters.postgres import gone
from workers.adapters.postgres.closings import lock_all_of_contact_id
from workers.adapters.postgres.transaction import Row, Transaction, sql

AGAIN = 2.0
"""Seconds until a bubble that is out is looked at again."""
FILES = 100

STORES = (
    "profile",
    "conversations",
    "messages",
    "drafts",
    "jobs",
    "job_events",
    "runs",
    "webhooks",
    "dead_letters",
    "memories",
    "summaries",
    "documents",
    "embeddings",
    "media_facts",
    "payments",
    "consents",
    "chores",
    "ledger",
    "audit",
    "files",
    "queues",
    "caches",
)
NOTES = {
    "payments": "amount, currency, state, times and the provider's reference are kept where money may have moved",
    "ledger": "figures are kept, and lead to nobody",
    "audit": "who did what kind of thing when is kept, without whom it was about",
    "embeddings": "the vectors of memories and of documents' passages, gone with their rows",
    "queues": "Redis holds numbers of rows, never what they say",
    "caches": "no process of ours keeps words between two runs; a browser may keep an audio file for an hour",
}

_NEXT = sql("""
SELECT id, org_id, contact_id FROM erasures WHERE due_at <= clock_timestamp()
ORDER BY due_at LIMIT 1 FOR NO KEY UPDATE SKIP LOCKED
""")
_BUBBLE_OUT = sql("""
SELECT EXISTS (
  SELECT 1 FROM conversations c JOIN deliveries d ON d.conversation_id = c.id
  WHERE c.contact_id = :contact AND d.lease_until > clock_timestamp()
    AND ((d.candidate_id IS NOT NULL AND d.state IN ('posting', 'waiting')) OR d.candidate_id IS NULL)) AS out
""")
_SOME_JOBS = sql("""
SELECT c.id AS conversation, array_agg(j.id) AS jobs
FROM conversations c CROSS JOIN LATERAL (
  SELECT id FROM jobs WHERE conversation_id = c.id ORDER BY id LIMIT :batch) AS j
WHERE c.contact_id = :contact GROUP BY c.id LIMIT 1
""")
_SOME_MESSAGES = sql("""
SELECT m.id FROM conversations c CROSS JOIN LATERAL (
  SELECT id FROM messages WHERE conversation_id = c.id ORDER BY position LIMIT :batch) AS m
WHERE c.contact_id = :contact LIMIT :batch
""")
_ALL = sql("SELECT id FROM conversations WHERE contact_id = :contact ORDER BY id LIMIT :batch")

# What may have moved money stays as a line of the books: of an offer without a link nobody can have paid.
_PAYMENTS = sql("""
WITH never AS (
  DELETE FROM payments WHERE contact_id = :contact AND offer <> '' AND url IS NULL AND state = 'expired' RETURNING id
), kept AS (
  UPDATE payments
  SET url = NULL, offer = '', media_ids = '[]', candidate_id = NULL, job_id = NULL, delivery_job_id = NULL
  WHERE contact_id = :contact AND offer <> '' AND NOT (url IS NULL AND state = 'expired') RETURNING id
), heard AS (
  UPDATE audit_log SET subject = 'erased', facts = '{}'
  WHERE org_id = :org AND subject IN (SELECT 'pay_' || id FROM payments WHERE contact_id = :contact) RETURNING id
)
SELECT (SELECT count(*) FROM never) + (SELECT count(*) FROM kept) AS payments, (SELECT count(*) FROM heard) AS audit
""")
_ABOUT = sql("""
WITH passages AS (
  SELECT id FROM chunks WHERE document_id IN (SELECT id FROM documents WHERE contact_id = :contact AND contact_id <> 0)
), learned AS (
  DELETE FROM chunks WHERE org_id = :org AND contact_id = :contact AND message_id IS NOT NULL RETURNING id
), heard AS (
  UPDATE audit_log SET subject = 'erased', facts = '{}'
  WHERE org_id = :org AND starts_with(action, 'document.')
    AND subject IN (SELECT name FROM documents WHERE contact_id = :contact) RETURNING id
), d AS (
  DELETE FROM documents WHERE contact_id = :contact AND contact_id <> 0 RETURNING id
), f AS (
  DELETE FROM media_facts WHERE contact_id = :contact RETURNING id
), q AS (
  DELETE FROM consent_records WHERE contact_id = :contact RETURNING id
)
SELECT (SELECT count(*) FROM learned) AS memories, (SELECT count(*) FROM heard) AS audit,
       (SELECT count(*) FROM learned) + (SELECT count(*) FROM passages) AS embeddings,
       (SELECT count(*) FROM d) AS documents, (SELECT count(*) FROM f) AS media_facts,
       (SELECT count(*) FROM q) AS consents
""")
# Waits for who is beginning a conversation with this contact; afterwards nobody can, as the name is not found.
_ALONE = sql("SELECT id FROM contacts WHERE id = :contact FOR UPDATE")
_FILES_LEFT = sql("SELECT EXISTS (SELECT 1 FROM doomed_files WHERE erasure_id = :erasure) AS left")

_KEEP = sql("""
UPDATE erasures SET receipt = CAST(:receipt AS jsonb), due_at = clock_timestamp() + make_interval(secs => :pause)
WHERE id = :erasure
""")
_DONE = sql("""
UPDATE erasures SET due_at = NULL, finished_at = clock_timestamp(), error = NULL WHERE id = :erasure
""")
_RECEIPT = sql("SELECT receipt FROM erasures WHERE id = :erasure")
_ONE = sql("SELECT * FROM erasures WHERE id = :erasure AND org_id = :org")

_DOOMED = sql("SELECT key, erasure_id FROM doomed_files WHERE due_at <= clock_timestamp() ORDER BY due_at LIMIT :batch")
# The same words in the same voice are one file, so somebody else's bubble may still play it.
_STILL_HEARD = sql(
    "SELECT EXISTS (SELECT 1 FROM candidates WHERE audio IS NOT NULL AND audio ->> 'key' = :key) AS heard"
)
_FORGET = sql("""
WITH gone AS (DELETE FROM doomed_files WHERE key = :key RETURNING erasure_id)
UPDATE erasures SET error = NULL FROM gone WHERE erasures.id = gone.erasure_id
""")
_FILE_FAILED = sql("""
WITH later AS (
  UPDATE doomed_files SET due_at = clock_timestamp() + interval '30 s' WHERE key = :key RETURNING erasure_id
)
UPDATE erasures SET error = :error FROM later WHERE erasures.id = later.erasure_id
""")


@dataclass(frozen=True, slots=True)
class Batch:
    """What one transaction erased, by store. `finished`: nothing of the contact is left."""

    erasure: ErasureId
    rows: Counter[str]
    finished: bool


async def advance(tx: Transaction) -> Batch | None:
    """The next batch of the erasure that waits longest; another process's is left to it. None: nothing is due."""
    row = await tx.one(_NEXT)
    if row is None:
        return None
    number = ErasureId(row.id)
    await lock_all_of_contact_id(tx, row.contact_id)
    if (await tx.the(_BUBBLE_OUT, contact=row.contact_id)).out:
        await _keep(tx, number, Counter(), AGAIN)
        return Batch(number, Counter(), finished=False)
    erased = await _batch(tx, row)
    if sum(erased.values()):
        await _keep(tx, number, erased, 0)
        return Batch(number, erased, finished=False)
    await tx.one(_ALONE, contact=row.contact_id)
    if await tx.all(_ALL, contact=row.contact_id, batch=1) and (late := await _batch(tx, row)):
        await _keep(tx, number, late, 0)
        return Batch(number, late, finished=False)
    if (await tx.the(_FILES_LEFT, erasure=number)).left:
        await _keep(tx, number, Counter(), AGAIN)
        return Batch(number, Counter(), finished=False)
    await tx.run(_DONE, erasure=number)
    return Batch(number, Counter(), finished=True)


async def _batch(tx: Transaction, row: Row) -> Counter[str]:
    """The first that is found: jobs before messages before conversations, which they point to."""
    contact, org, erasure = row.contact_id, row.org_id, row.id
    some = await tx.one(_SOME_JOBS, contact=contact, batch=gone.JOBS)
    if some is not None:
        return await gone.jobs(tx, org, some.conversation, some.jobs, erasure)
    said = await tx.all(_SOME_MESSAGES, contact=contact, batch=gone.MESSAGES)
    if said:
        return await gone.messages(tx, [message.id for message in said])
    erased = gone.counted(await tx.the(_ABOUT, org=org, contact=contact))
    erased += gone.counted(await tx.the(_PAYMENTS, org=org, contact=contact))
    for each in await tx.all(_ALL, contact=contact, batch=gone.JOBS):
        erased += await gone.conversation(tx, each.id, contact)
    return erased


async def _keep(tx: Transaction, erasure: ErasureId, erased: Counter[str], pause: float) -> None:
    before = (await tx.the(_RECEIPT, erasure=erasure)).receipt
    await tx.run(
        _KEEP,
        erasure=erasure,
        receipt=json.dumps(dict(Counter(before) + erased)),
        pause=pause,
    )
    await gone.tally(tx, "contact", erased)


async def one(tx: Transaction, org: OrgId, number: ErasureId) -> ErasureOut:
    """Raises NotFound, also for another organisation's."""
    row = await tx.one(_ONE, erasure=number, org=org)
    if row is None:
        raise NotFound("no such erasure")
    done = row.finished_at is not None
    return ErasureOut(
        id=reference("era", row.id),
        state=ErasureState.DONE if done else ErasureState.RUNNING,
        asked_at=row.asked_at,
        finished_at=row.finished_at,
        stores=[_store(store, row, done) for store in STORES],
    )


def _store(store: str, row: Row, done: bool) -> StoreReceipt:
    failed = store == "files" and row.error is not None and not done
    state = StoreState.DONE if done else StoreState.FAILED if failed else StoreState.RUNNING
    note = row.error if failed else NOTES.get(store)
    return StoreReceipt(store=store, state=state, rows=row.receipt.get(store, 0), note=note)


async def doomed(tx: Transaction) -> list[str]:
    """Keys of files whose time has come."""
    return [row.key for row in await tx.all(_DOOMED, batch=FILES)]


async def still_heard(tx: Transaction, key: str) -> bool:
    return bool((await tx.the(_STILL_HEARD, key=key)).heard)


async def file_gone(tx: Transaction, key: str) -> None:
    await tx.run(_FORGET, key=key)


async def file_failed(tx: Transaction, key: str, error: str) -> None:
    await tx.run(_FILE_FAILED, key=key, error=error)
