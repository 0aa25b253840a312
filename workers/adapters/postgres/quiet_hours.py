"""A bubble whose time has come in the contact's quiet hours leaves when they are over."""

from datetime import datetime

from pipelines.delivery.quiet import quiet_until
from pipelines.hours import zone_of
from schemas.ids import DeliveryId
from workers.adapters.postgres.jobs import EVENT, Job, facts
from workers.adapters.postgres.locks import Locked
from workers.adapters.postgres.transaction import Transaction, sql

_ZONE = sql("SELECT timezone FROM contacts WHERE id = :contact")

_WAIT = sql(f"""
WITH waiting AS (
  UPDATE jobs SET due_at = CAST(:until AS timestamptz), dispatched_at = NULL
  WHERE id = :job AND state = :state AND fence = :fence AND lease_until IS NULL
  RETURNING id
), told AS ({EVENT.format(of="waiting", frm=":state", to=":state")})
SELECT id FROM waiting
""")

# One that may have been shown is not held back: its repeat, under the same id, shows nothing twice.
_WAIT_AGAIN = sql(f"""
WITH waiting AS (
  UPDATE deliveries d SET due_at = CAST(:until AS timestamptz), dispatched_at = NULL
  FROM jobs j
  WHERE d.id = :delivery AND d.state = 'waiting' AND NOT d.ambiguous AND d.candidate_id IS NOT NULL
    AND d.lease_until IS NULL AND d.due_at <= clock_timestamp() AND j.id = d.job_id AND j.kind <> 'delivery'
  RETURNING j.id, j.state
), told AS ({EVENT.format(of="waiting", frm="waiting.state", to="waiting.state")})
SELECT id FROM waiting
""")


async def quiet(tx: Transaction, conversation: Locked) -> tuple[datetime, str] | None:
    """When it is over and in which zone, if it is quiet at the contact's now."""
    spec = conversation.persona.spec
    if spec.quiet_hours is None:
        return None
    contact = await tx.the(_ZONE, contact=conversation.contact_id)
    zone = zone_of((contact.timezone, spec.timezone, conversation.organization.spec.timezone))
    until = quiet_until(spec.quiet_hours, conversation.now, zone)
    return None if until is None else (until, zone.key)


async def hold_back(tx: Transaction, conversation: Locked, job: Job) -> bool:
    """Row 28. True: it is quiet at the contact's, and the job is due when that ends."""
    found = await quiet(tx, conversation) if job.replies else None
    if found is None:
        return False
    until, zone = found
    await tx.the(
        _WAIT,
        org=conversation.org,
        conversation=conversation.id,
        job=job.id,
        fence=job.fence,
        state=job.state.value,
        until=until,
        who="worker",
        why="quiet_hours",
        facts=facts(until=until.isoformat(), zone=zone),
    )
    return True


async def hold_back_again(tx: Transaction, conversation: Locked, delivery: DeliveryId) -> bool:
    """The same for a bubble's next attempt. True: the receiver refused it, it is quiet, and it is due afterwards."""
    found = await quiet(tx, conversation)
    if found is None:
        return False
    until, zone = found
    held_back = await tx.one(
        _WAIT_AGAIN,
        org=conversation.org,
        conversation=conversation.id,
        delivery=delivery,
        until=until,
        who="worker",
        why="quiet_hours",
        facts=facts(until=until.isoformat(), zone=zone),
    )
    return held_back is not None
