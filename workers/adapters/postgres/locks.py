"""The lock that orders everything: the conversation's row, taken first by every transition.

Locked and read in one statement, which answers the newest committed row even after a wait. What it joins is read as
of the statement's start, so only what hardly changes is joined: names and versions. Whatever a transition decides
on besides (jobs, bubbles, the contact's flags) is read by a later statement, under the lock.
"""

from dataclasses import dataclass
from datetime import datetime

from schemas.claims import NoJob
from schemas.conversation import HandledBy, Organization, Persona
from schemas.errors import NotFound
from schemas.ids import ContactId, ConversationId, JobId, OrgId, PersonaId
from workers.adapters.postgres.transaction import Row, Transaction, sql

LOCKED = """
c.id, c.org_id, c.name, c.persona_id, c.contact_id, c.inbound_seq, c.last_position, c.last_inbound_at,
c.operator_seq, c.handled_by, c.handled_by_who, c.handled_at, c.plan, c.paused_until,
clock_timestamp() AS now, ct.name AS contact, o.name AS organization, o.version AS organization_version,
o.strategy_version, o.webhook_disabled_at, p.name AS persona, p.version AS persona_version,
p.brisk
"""
"""What `of_row` needs of the conversation `c`, its contact `ct`, organisation `o` and persona `p`."""

_LOCK = f"""
SELECT {LOCKED}
FROM conversations c
JOIN contacts ct ON ct.id = c.contact_id
JOIN organizations o ON o.id = c.org_id
JOIN personas p ON p.id = c.persona_id
WHERE {{which}}
FOR NO KEY UPDATE OF c
"""
_BY_ID = sql(_LOCK.format(which="c.id = :conversation"))
_BY_NAME = sql(_LOCK.format(which="c.org_id = :org AND c.name = :name"))

_OF_MESSAGE = sql(
    _LOCK.format(which="c.id = (SELECT conversation_id FROM messages WHERE org_id = :org AND name = :message)")
)

_CONVERSATION_OF_JOB = sql("SELECT conversation_id, org_id FROM jobs WHERE id = :job")

# What stops a job before any model call, whoever handles the conversation; the first that holds is the reason.
CONTACT_FLAGS = "ct.erased_at IS NOT NULL AS erased, ct.locked_at IS NOT NULL AS locked, \
ct.opted_out_at IS NOT NULL AS opted_out"


@dataclass(frozen=True, slots=True)
class Locked:
    """A conversation whose lock this transaction holds. `now` is the database's time when the lock was asked for."""

    id: ConversationId
    org: OrgId
    name: str
    contact_id: ContactId
    contact: str
    organization: Organization
    persona: Persona
    inbound_seq: int
    last_position: int
    last_inbound_at: datetime | None
    operator_seq: int
    handled_by: HandledBy
    handled_by_who: str | None
    handled_at: datetime | None
    plan: str | None
    paused_until: datetime | None
    strategy_version: int
    webhook_disabled: bool
    now: datetime

    @property
    def erased(self) -> bool:
        """Its contact asked for it: no name that came from outside has a slash."""
        return self.contact.startswith("erased/")

    @property
    def paused(self) -> bool:
        return self.paused_until is not None and self.paused_until > self.now

    def closed_to_ai(self, flags: Row) -> NoJob | None:
        """Why no job may answer here, from the conversation and the contact's `CONTACT_FLAGS`."""
        return why_closed(flags, self.handled_by, self.persona.spec.autonomy)


def why_closed(flags: Row, handled_by: HandledBy, autonomy: str) -> NoJob | None:
    """What is final comes first. `flags`: the contact's `CONTACT_FLAGS`."""
    if flags.erased:
        return NoJob.ERASED
    if flags.locked:
        return NoJob.SAFETY_LOCK
    if flags.opted_out:
        return NoJob.OPTED_OUT
    if handled_by is not HandledBy.AI:
        return NoJob.HUMAN_HANDLES
    return NoJob.AUTONOMY_OFF if autonomy == "off" else None


async def lock(tx: Transaction, conversation: int) -> Locked | None:
    row = await tx.one(_BY_ID, conversation=conversation)
    return None if row is None else await of_row(tx, row)


async def lock_by_name(tx: Transaction, org: OrgId, name: str) -> Locked | None:
    row = await tx.one(_BY_NAME, org=org, name=name)
    return None if row is None else await of_row(tx, row)


async def lock_of_message(tx: Transaction, org: OrgId, message: str) -> Locked | None:
    row = await tx.one(_OF_MESSAGE, org=org, message=message)
    return None if row is None else await of_row(tx, row)


async def lock_of_job(tx: Transaction, org: OrgId | None, job: JobId) -> Locked:
    """The conversation of a job. Raises NotFound, also for another organisation's job."""
    row = await tx.one(_CONVERSATION_OF_JOB, job=job)
    if row is None or (org is not None and row.org_id != org):
        raise NotFound("no such job")
    locked = await lock(tx, row.conversation_id)
    if locked is None:
        raise NotFound("no such job")
    return locked


async def of_row(tx: Transaction, row: Row) -> Locked:
    """`row` holds `LOCKED` of a conversation that is locked, or was made here and is nobody else's yet."""
    organization, persona = await tx.specs.pair(
        tx.connection, (row.org_id, row.organization_version), (row.persona_id, row.persona_version)
    )
    return Locked(
        id=ConversationId(row.id),
        org=OrgId(row.org_id),
        name=row.name,
        contact_id=ContactId(row.contact_id),
        contact=row.contact,
        organization=Organization(OrgId(row.org_id), row.organization, organization),
        persona=Persona(PersonaId(row.persona_id), row.persona, persona, row.brisk),
        inbound_seq=row.inbound_seq,
        last_position=row.last_position,
        last_inbound_at=row.last_inbound_at,
        operator_seq=row.operator_seq,
        handled_by=HandledBy(row.handled_by),
        handled_by_who=row.handled_by_who,
        handled_at=row.handled_at,
        plan=row.plan,
        paused_until=row.paused_until,
        strategy_version=row.strategy_version,
        webhook_disabled=row.webhook_disabled_at is not None,
        now=row.now,
    )
