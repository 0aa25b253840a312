"""A reply whose delivery was given up goes out again, under the same webhook ids.

What was clearly refused is a held bubble again. What may have been shown stays out, with its frozen body: it is
repeated, never edited or recalled.
"""

from schemas.claims import JobState
from schemas.conversation import Flag
from schemas.ids import DeliveryId
from schemas.jobs import DelayedSend, Deliver
from workers.adapters.postgres.dispatch_now import DISPATCHED_SEND
from workers.adapters.postgres.jobs import EVENT, LETTERS_ANSWERED, NO_COMPLAINT, Job
from workers.adapters.postgres.late import too_late
from workers.adapters.postgres.locks import Locked
from workers.adapters.postgres.transaction import Transaction, sql

# The id of a webhook is its bubble's and unique: the next attempt needs it. The dead letter tells of the last one.
_HELD_AGAIN = sql("""
WITH given_up AS (
  DELETE FROM deliveries WHERE NOT ambiguous AND state IN ('failed', 'recalled') AND candidate_id IN (
    SELECT id FROM candidates WHERE job_id = :job AND (state = 'failed' OR (state = 'recalled' AND :stopped)))
  RETURNING candidate_id
)
UPDATE candidates SET state = 'held', reason = NULL
WHERE job_id = :job AND (id IN (SELECT candidate_id FROM given_up) OR (state = 'recalled' AND :stopped))
""")

# What is delivered after all is not to be refunded.
_NO_REFUND = sql(f"""
UPDATE jobs SET note = NULLIF(array_to_string(array_remove(array_remove(
    string_to_array(note, '; '), '{Flag.PAID_LOCKED}'), '{Flag.PAID_CANCELLED}'), '; '), '')
WHERE id = :job
""")

_OUT_AGAIN = sql(f"""
WITH out_again AS (
  UPDATE deliveries
  SET state = 'waiting', attempts = 0, crashes = 0, first_attempt_at = NULL, ended_at = NULL, fence = fence + 1,
      due_at = clock_timestamp(), dispatched_at = {DISPATCHED_SEND}
  WHERE ambiguous AND state = 'failed' AND candidate_id IN (
    SELECT id FROM candidates WHERE job_id = :job AND state = 'failed')
  RETURNING id, candidate_id, dispatched_at
), bubble AS (
  UPDATE candidates SET state = 'leaving', reason = NULL WHERE id IN (SELECT candidate_id FROM out_again)
)
SELECT id, dispatched_at IS NOT NULL AS dispatched FROM out_again
""")

_SENDING = sql(f"""
WITH again AS (
  UPDATE jobs
  SET state = 'sending', queue = 'send', {NO_COMPLAINT}, ended_at = NULL, crashes = 0,
      tries = 0, lease_until = NULL, leased_by = NULL, fence = fence + 1,
      due_at = CASE WHEN :bubble_out THEN NULL ELSE clock_timestamp() END, dispatched_at = {DISPATCHED_SEND}
  WHERE id = :job AND state = :from AND fence = :fence
  RETURNING id, dispatched_at
), answered AS ({LETTERS_ANSWERED}
), told AS ({EVENT.format(of="again", frm=":from", to="'sending'")})
SELECT dispatched_at IS NOT NULL AS dispatched FROM again
""")


async def deliver_again(tx: Transaction, conversation: Locked, job: Job, who: str) -> None:
    """Row 25. Refused when a reply is old news: the contact or a person wrote since. What is owed never is, and goes on
    too after a person or a safety lock had stopped it."""
    went_on = conversation.inbound_seq != job.seq or conversation.operator_seq >= job.seq
    if job.replies and went_on:
        raise await too_late(tx, job, reason="the conversation went on")
    if job.replies and conversation.paused:
        raise await too_late(tx, job, reason="paused")
    cap = conversation.organization.spec.limits.in_flight
    stopped = job.bought and job.state is JobState.CANCELLED
    await tx.run(_HELD_AGAIN, job=job.id, stopped=stopped)
    if stopped:
        await tx.run(_NO_REFUND, job=job.id)
    out = await tx.one(_OUT_AGAIN, job=job.id, org=conversation.org, cap=cap, fast=True)
    row = await tx.the(
        _SENDING,
        org=conversation.org,
        conversation=conversation.id,
        job=job.id,
        fence=job.fence,
        bubble_out=out is not None,
        fast=out is None,
        cap=cap,
        who=who,
        why="retry",
        facts=None,
        **{"from": job.state.value},
    )
    if row.dispatched:
        tx.hints.append(DelayedSend(conversation=conversation.id, job=job.id))
    if out is not None and out.dispatched:
        tx.hints.append(Deliver(conversation=conversation.id, delivery=DeliveryId(out.id)))
