"""Who opens again what row 36 closed: the contact's new consent, or two people after a safety stop."""

from dataclasses import dataclass
from datetime import datetime

from pipelines.text import fold
from schemas.errors import Invalid, NotFound, TooLate
from schemas.ids import OrgId
from workers.adapters.postgres import closings
from workers.adapters.postgres.audit import note
from workers.adapters.postgres.locks import CONTACT_FLAGS, Locked, lock_by_name
from workers.adapters.postgres.transaction import Row, Transaction, sql

_FLAGS = sql(f"""
SELECT {CONTACT_FLAGS}, asked.who AS asked_by, asked.at AS asked_at, last.who AS by, last.at
FROM contacts ct
LEFT JOIN LATERAL (
  SELECT who, at, act FROM consent_records r WHERE r.contact_id = ct.id AND r.act IN ('locked', 'reopening', 'reopened')
  ORDER BY r.id DESC LIMIT 1
) last ON true
LEFT JOIN LATERAL (SELECT last.who, last.at WHERE last.act = 'reopening') asked ON true
WHERE ct.id = :contact
""")

_CONSENT = sql(f"""
WITH opened AS (UPDATE contacts SET opted_out_at = NULL, cleared_at = clock_timestamp() WHERE id = :contact)
{closings.RECORD}
VALUES (:org, :contact, :conversation, 'opted_in', :who, :rule, :reason, NULL, NULL)
""")

_ASK = sql(f"""
{closings.RECORD}
VALUES (:org, :contact, :conversation, 'reopening', :who, NULL, :reason, NULL, NULL)
RETURNING at
""")

_OPEN = sql(f"""
WITH opened AS (UPDATE contacts SET locked_at = NULL, cleared_at = clock_timestamp() WHERE id = :contact)
{closings.RECORD}
VALUES (:org, :contact, :conversation, 'reopened', :who, NULL, :reason, NULL, NULL)
""")


@dataclass(frozen=True, slots=True)
class Reopening:
    """`confirmed_by` None: it waits for a second person."""

    asked_by: str
    asked_at: datetime
    confirmed_by: str | None = None


async def consent(tx: Transaction, org: OrgId, name: str, who: str, how: str | None, proof: str | None) -> None:
    """The contact agrees to be written to again. Kept also when they had not opted out. Raises NotFound."""
    conversation, _ = await _found(tx, org, name)
    await tx.run(
        _CONSENT,
        org=org,
        contact=conversation.contact_id,
        conversation=conversation.id,
        who=who,
        rule=how,
        reason=proof,
    )
    await note(tx, org, who, "contact.consented", conversation.contact, how=how)


async def reopen(tx: Transaction, org: OrgId, name: str, who: str, reason: str | None) -> Reopening:
    """The first person asks, with a reason; another one confirms. A lock that came in between starts it anew.
    Raises NotFound, Invalid (no reason), TooLate (not locked; the same person again)."""
    conversation, look = await _found(tx, org, name)
    if not look.locked:
        raise TooLate("open", by=look.by, at=look.at)
    bound = {"org": org, "contact": conversation.contact_id, "conversation": conversation.id, "who": who}
    if look.asked_by is None:
        if reason is None:
            raise Invalid("no reason", [{"field": "reason", "message": "say why the safety lock may be opened"}])
        row = await tx.the(_ASK, **bound, reason=reason)
        await note(tx, org, who, "contact.reopening", conversation.contact, reason=reason)
        return Reopening(who, row.at)
    if fold(look.asked_by) == fold(who):
        raise TooLate("pending", by=who, at=look.asked_at, reason="a second person must confirm it")
    await tx.run(_OPEN, **bound, reason=reason)
    await note(tx, org, who, "contact.reopened", conversation.contact, asked_by=look.asked_by, reason=reason)
    return Reopening(look.asked_by, look.asked_at, who)


async def _found(tx: Transaction, org: OrgId, name: str) -> tuple[Locked, Row]:
    await closings.lock_all_of_name(tx, org, name)
    conversation = await lock_by_name(tx, org, name)
    if conversation is None:
        raise NotFound("no such conversation")
    look = await tx.the(_FLAGS, contact=conversation.contact_id)
    if look.erased:
        raise NotFound("the contact was erased")
    return conversation, look
