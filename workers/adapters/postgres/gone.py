"""What goes with a job, a message, a conversation: shared by whoever erases a contact and by the retention sweeper.

Every statement takes a batch, so that none holds its locks for long. Files cannot be part of a transaction: their keys
are written down with the erasure of the bubbles that named them, and the files are deleted afterwards.
"""

import json
from collections import Counter
from collections.abc import Mapping, Sequence

from pipelines.delivery.speech import file_key
from schemas.speech import SpeechFailed, Voice
from workers.adapters.postgres.transaction import Row, Transaction, sql

JOBS = 50
MESSAGES = 500
SPEAKING = 900.0
"""Seconds after which nobody speaks a bubble any more whose job is gone: its file is looked for once more."""

UNLINKED = "conversation_id = NULL, job_id = NULL, run_id = NULL, request_id = NULL"
"""What an erased call keeps are its figures: the sums stay true, and lead to nobody."""

UNHEARD = """settled_at = CASE state WHEN 'reserved' THEN clock_timestamp() ELSE settled_at END,
  cost_usd = CASE state WHEN 'reserved' THEN reserved_usd ELSE cost_usd END,
  state = CASE state WHEN 'reserved' THEN 'unknown' ELSE state END"""
"""A chore's call may be out: who made it finds no row to come back to, nor does anybody else."""

# Foreign keys are checked when the whole statement is done, so the order of its parts does not matter.
_JOBS = sql(f"""
WITH k AS (
  DELETE FROM candidates WHERE job_id = ANY(:jobs) RETURNING id, audio ->> 'key' AS key
), doomed AS (
  INSERT INTO doomed_files (key, erasure_id)
  SELECT DISTINCT key, CAST(:erasure AS bigint) FROM k WHERE key IS NOT NULL
  ON CONFLICT (key) DO UPDATE SET erasure_id = excluded.erasure_id
  RETURNING key
), d AS (
  DELETE FROM deliveries WHERE candidate_id IN (SELECT id FROM candidates WHERE job_id = ANY(:jobs)) RETURNING id
), e AS (
  DELETE FROM deliveries
  WHERE candidate_id IS NULL AND conversation_id = :conversation AND job_id = ANY(:jobs) RETURNING id
), l AS (
  DELETE FROM dead_letters WHERE job_id = ANY(:jobs) RETURNING id
), s AS (
  DELETE FROM run_steps WHERE run_id IN (SELECT id FROM runs WHERE job_id = ANY(:jobs)) RETURNING n
), r AS (
  DELETE FROM runs WHERE job_id = ANY(:jobs) RETURNING id
), v AS (
  DELETE FROM job_events WHERE job_id = ANY(:jobs) RETURNING id
), g AS (
  UPDATE ledger SET {UNLINKED} WHERE job_id = ANY(:jobs) RETURNING call
), j AS (
  DELETE FROM jobs WHERE id = ANY(:jobs) RETURNING id
), a AS (
  UPDATE audit_log SET subject = 'erased', facts = '{{}}'
  WHERE org_id = :org AND subject = ANY(ARRAY(
    SELECT 'job_' || number FROM unnest(CAST(:jobs AS bigint[])) AS number
    UNION ALL SELECT 'bub_' || id FROM candidates WHERE job_id = ANY(:jobs)))
  RETURNING id
)
SELECT (SELECT count(*) FROM k) AS drafts, (SELECT count(*) FROM doomed) AS files,
       (SELECT count(*) FROM d) + (SELECT count(*) FROM e) AS webhooks, (SELECT count(*) FROM l) AS dead_letters,
       (SELECT count(*) FROM s) + (SELECT count(*) FROM r) AS runs, (SELECT count(*) FROM v) AS job_events,
       (SELECT count(*) FROM g) AS ledger, (SELECT count(*) FROM j) AS jobs, (SELECT count(*) FROM a) AS audit
""")

_UNSPOKEN = sql("""
SELECT k.text, p.spec ->> 'voice' AS voice, k.org_id,
       ARRAY[p.spec ->> 'language', ct.locale, o.spec ->> 'locale'] AS languages
FROM candidates k JOIN conversations c ON c.id = k.conversation_id JOIN contacts ct ON ct.id = c.contact_id
JOIN personas p ON p.id = c.persona_id JOIN organizations o ON o.id = c.org_id
WHERE k.job_id = ANY(:jobs) AND k.kind = 'voice' AND k.audio IS NULL
""")
_DOOM = sql("""
INSERT INTO doomed_files (key, erasure_id, due_at)
SELECT DISTINCT key, CAST(:erasure AS bigint), clock_timestamp() + make_interval(secs => :pause)
FROM unnest(CAST(:keys AS text[])) AS key
ON CONFLICT (key) DO UPDATE SET due_at = excluded.due_at, erasure_id = excluded.erasure_id
""")

_MESSAGES = sql("""
WITH facts AS (
  DELETE FROM chunks WHERE message_id = ANY(:messages) RETURNING id
), told AS (
  DELETE FROM summaries s USING messages m
  WHERE m.id = ANY(:messages) AND s.conversation_id = m.conversation_id RETURNING s.until
), m AS (
  DELETE FROM messages WHERE id = ANY(:messages) RETURNING id
)
SELECT (SELECT count(*) FROM m) AS messages, (SELECT count(*) FROM facts) AS memories,
       (SELECT count(*) FROM facts) AS embeddings, (SELECT count(*) FROM told) AS summaries
""")

# Jobs and messages are gone by now. Payments that may have moved money are books, and are not ours to destroy.
_CONVERSATION = sql(f"""
WITH letters AS (
  DELETE FROM dead_letters WHERE job_id IS NULL AND delivery_id IN (
    SELECT id FROM deliveries WHERE conversation_id = :conversation AND candidate_id IS NULL) RETURNING id
), d AS (
  DELETE FROM deliveries WHERE conversation_id = :conversation AND candidate_id IS NULL RETURNING id
), g AS (
  UPDATE ledger SET {UNLINKED}, {UNHEARD} WHERE job_id IS NULL AND conversation_id = :conversation RETURNING call
), s AS (
  DELETE FROM shown_media WHERE conversation_id = :conversation RETURNING media_id
), told AS (
  DELETE FROM summaries WHERE conversation_id = :conversation RETURNING until
), w AS (
  DELETE FROM chores WHERE conversation_id = :conversation RETURNING id
), q AS (
  DELETE FROM consent_records WHERE conversation_id = :conversation RETURNING id
)
SELECT (SELECT count(*) FROM letters) AS dead_letters, (SELECT count(*) FROM d) AS webhooks,
       (SELECT count(*) FROM g) AS ledger, (SELECT count(*) FROM s) AS media_facts, (SELECT count(*) FROM w) AS chores,
       (SELECT count(*) FROM q) AS consents, (SELECT count(*) FROM told) AS summaries
""")
_LAST = sql("""
WITH c AS (
  DELETE FROM conversations WHERE id = :conversation
    AND NOT EXISTS (SELECT 1 FROM payments p WHERE p.contact_id = :contact AND p.conversation_id = :conversation)
  RETURNING id
)
SELECT count(*) AS conversations FROM c
""")


_TALLY = sql("""
INSERT INTO tallies (metric, labels, n)
SELECT 'erased', ARRAY[:reason, store], CAST(rows AS bigint)
FROM jsonb_each_text(CAST(:erased AS jsonb)) AS e (store, rows)
""")


async def tally(tx: Transaction, reason: str, erased: Mapping[str, int]) -> None:
    """For /metrics. `reason`: `contact`, for all of one goes, or `retention`."""
    if erased:
        await tx.run(_TALLY, reason=reason, erased=json.dumps(erased))


async def jobs(
    tx: Transaction, org: int, conversation: int, numbers: Sequence[int], erasure: int | None
) -> Counter[str]:
    """Jobs with their bubbles, runs, events, webhooks, dead letters. Needs the conversation's lock."""
    unspoken = await tx.all(_UNSPOKEN, jobs=list(numbers))
    row = await tx.the(_JOBS, org=org, conversation=conversation, jobs=list(numbers), erasure=erasure)
    found = counted(row)
    keys = [key for bubble in unspoken if (key := _spoken_meanwhile(tx, bubble)) is not None]
    if keys:
        await tx.run(_DOOM, keys=keys, erasure=erasure, pause=SPEAKING)
    return found


async def messages(tx: Transaction, numbers: Sequence[int]) -> Counter[str]:
    """Messages, what was learned from them, and the summaries of their conversation: each goes on from the last."""
    return counted(await tx.the(_MESSAGES, messages=list(numbers)))


async def conversation(tx: Transaction, number: int, contact: int) -> Counter[str]:
    """A conversation without jobs and messages. One with payments stays, as a number under which they are kept."""
    rest = counted(await tx.the(_CONVERSATION, conversation=number))
    return rest + counted(await tx.the(_LAST, conversation=number, contact=contact))


def counted(row: Row) -> Counter[str]:
    found: dict[str, int] = row._asdict()
    return Counter({store: rows for store, rows in found.items() if rows})


def _spoken_meanwhile(tx: Transaction, bubble: Row) -> str | None:
    """Where the audio of a bubble lies, or may be put by a worker who is speaking it at this moment."""
    language = next((language for language in bubble.languages if language), "")
    try:
        voice = Voice.parse(bubble.voice, tx.settings.speech.engine)
        return file_key(bubble.org_id, voice, language, bubble.text)
    except SpeechFailed:
        return None
