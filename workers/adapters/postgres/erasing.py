"""Row 36, erasure: a contact is nobody from here on. The rest is done in batches (`erasures.py`).

The decision is one transaction: the contact's and the conversations' names go, so that who writes under them is
somebody new; whatever is live ends; and a row says what is left to erase. A worker who is thinking or sending at this
moment finds an old fence, or its row gone, and drops what it has.
"""

from schemas.claims import JobState, NoJob
from schemas.errors import Code, NotFound
from schemas.ids import ErasureId, OrgId
from workers.adapters.postgres import gone
from workers.adapters.postgres.chores import CALL
from workers.adapters.postgres.closings import lock_all_of_contact
from workers.adapters.postgres.jobs import AT_REST, JOB, LIVE, Job, send_away
from workers.adapters.postgres.ledger import UNHEARD
from workers.adapters.postgres.locks import lock
from workers.adapters.postgres.subjects import subject_of
from workers.adapters.postgres.transaction import Transaction, sql

_CONTACT = sql("SELECT id FROM contacts WHERE org_id = :org AND name = :contact FOR UPDATE")
_KNOWN = sql(f"""
SELECT id FROM erasures WHERE org_id = :org AND subject = {subject_of(":contact")} ORDER BY id DESC LIMIT 1
""")
_ALL = sql("SELECT id FROM conversations WHERE contact_id = :contact ORDER BY id")
_LIVE = sql(f"""
SELECT c.id AS conversation, {JOB} FROM conversations c JOIN jobs j ON j.conversation_id = c.id
WHERE c.contact_id = :contact AND j.state IN {LIVE} ORDER BY c.id, j.id
""")

# Nothing has a name with a slash that came from outside.
_NOBODY = sql(f"""
WITH before AS (
  SELECT ct.id, ct.locked_at IS NOT NULL AS locked, {subject_of("ct.name")} AS subject, ct.name
  FROM contacts ct WHERE ct.id = :contact
), who AS (
  UPDATE contacts
  SET name = 'erased/' || id, display_name = NULL, locale = NULL, timezone = NULL, profile = '{{}}', noticed_at = NULL,
      opted_out_at = NULL, cleared_at = NULL, erased_at = clock_timestamp()
  WHERE id = :contact
), heard AS (
  UPDATE audit_log SET subject = 'erased', facts = '{{}}'
  WHERE org_id = :org AND subject = ANY(ARRAY(
      SELECT name FROM before UNION ALL SELECT name FROM conversations WHERE contact_id = :contact)) AND (
    (starts_with(action, 'contact.') AND subject IN (SELECT name FROM before))
    OR (starts_with(action, 'conversation.') AND subject IN (
          SELECT name FROM conversations WHERE contact_id = :contact)))
  RETURNING id
), talk AS (
  UPDATE conversations
  SET name = 'erased/' || id, plan = NULL, follow_up_at = NULL, paused_until = NULL, handled_by_who = NULL
  WHERE contact_id = :contact
), chores AS (
  DELETE FROM chores USING conversations c WHERE c.id = chores.conversation_id AND c.contact_id = :contact
  RETURNING chores.id, chores.fence
), unheard AS (
  {UNHEARD.format(which=f"call IN (SELECT {CALL} FROM chores)")}
), unsent AS (
  UPDATE deliveries d SET state = 'failed', error = 'erased', due_at = NULL, {AT_REST}, ended_at = clock_timestamp()
  FROM conversations c
  WHERE c.contact_id = :contact AND d.conversation_id = c.id
    AND ((d.candidate_id IS NOT NULL AND d.state = 'waiting') OR (d.candidate_id IS NULL AND d.state = 'waiting'))
), links AS (
  UPDATE payments SET state = 'expired', ended_at = clock_timestamp() WHERE contact_id = :contact AND state = 'open'
)
INSERT INTO erasures (org_id, subject, contact_id, who, locked, receipt, due_at)
SELECT :org, before.subject, before.id, :who, before.locked,
       jsonb_build_object('audit', (SELECT count(*) FROM heard), 'chores', (SELECT count(*) FROM chores), 'profile', 1),
       clock_timestamp() + make_interval(secs => :pause)
FROM before
RETURNING id, receipt
""")
_AUDIT = sql("""
INSERT INTO audit_log (org_id, who, action, subject, facts)
VALUES (:org, :who, 'contact.erased', 'era_' || :erasure, '{}')
""")


class WroteMeanwhile(Exception):
    """The contact began another conversation while theirs were being locked: decide again."""


async def decide(tx: Transaction, org: OrgId, contact: str, who: str) -> ErasureId:
    """Raises NotFound, WroteMeanwhile. Who was erased before and has not come back gets the same answer again."""
    locked = await lock_all_of_contact(tx, org, contact)
    found = await tx.one(_CONTACT, org=org, contact=contact)
    if found is None:
        known = await tx.one(_KNOWN, org=org, contact=contact)
        if known is None:
            raise NotFound("no such contact")
        return ErasureId(known.id)
    if [row.id for row in await tx.all(_ALL, contact=found.id)] != [row.id for row in locked]:
        raise WroteMeanwhile
    busy = await _end_jobs(tx, found.id, who)
    # Whoever is thinking learns of it at the next renewal of the lease.
    pause = 2 * tx.settings.queue.renew_seconds if busy else 0
    row = await tx.the(_NOBODY, org=org, contact=found.id, who=who, pause=pause)
    await tx.run(_AUDIT, org=org, who=who, erasure=str(row.id))
    await gone.tally(tx, "contact", {store: rows for store, rows in row.receipt.items() if rows})
    return ErasureId(row.id)


async def _end_jobs(tx: Transaction, contact: int, who: str) -> bool:
    """A reply that lies ready is recalled as by any other closing; what was still to be thought ends AR-404, silently.
    Answers whether one was being worked on."""
    busy = False
    for row in await tx.all(_LIVE, contact=contact):
        job, conversation = Job.of(row), await lock(tx, row.conversation)
        if conversation is None:
            raise AssertionError("a conversation went while it was locked")
        thought = job.state in (JobState.HELD, JobState.SENDING)
        busy = busy or job.state in (JobState.RUNNING, JobState.SENDING)
        to = JobState.CANCELLED if thought else JobState.SILENT
        code = None if thought else Code.GONE
        covers = conversation.inbound_seq
        await send_away(tx, conversation, job, to, NoJob.ERASED, who, answers=covers, code=code)
    return busy
