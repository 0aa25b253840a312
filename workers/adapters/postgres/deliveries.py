"""A send worker takes a webhook that waited for its next attempt, or whose worker died in the POST."""

from schemas.claims import Endpoint, Posting, Refused, Unknown
from schemas.ids import CandidateId, ConversationId, DeliveryId, OrgId
from schemas.jobs import Deliver
from workers.adapters.postgres import quiet_hours
from workers.adapters.postgres.locks import lock
from workers.adapters.postgres.settle import settle
from workers.adapters.postgres.transaction import Row, Transaction, sql

# What is found posting lost its worker in the POST: the receiver may have applied it.
_CLAIM = sql("""
UPDATE deliveries d
SET ambiguous = d.ambiguous OR d.state = 'posting', state = 'posting', fence = d.fence + 1, attempts = d.attempts + 1,
    crashes = d.crashes + 1, due_at = NULL, lease_until = clock_timestamp() + make_interval(secs => :lease),
    leased_by = :instance, first_attempt_at = COALESCE(d.first_attempt_at, clock_timestamp())
FROM organizations o
WHERE d.id = :delivery AND o.id = d.org_id AND d.state IN ('waiting', 'posting') AND d.lease_until IS NULL
  AND d.due_at <= clock_timestamp()
RETURNING d.id, d.webhook_id, d.org_id, d.conversation_id, d.candidate_id, d.type, d.body, d.fence, d.attempts,
          d.crashes, EXTRACT(EPOCH FROM clock_timestamp() - d.first_attempt_at) AS age,
          o.version, o.webhook_disabled_at IS NOT NULL AS disabled
""")

_NOT_YET = sql("UPDATE deliveries SET dispatched_at = NULL WHERE id = :delivery AND lease_until IS NULL")


async def claim(tx: Transaction, hint: Deliver) -> Posting | None:
    """None: there is nothing to post now, or it was given up instead."""
    if hint.conversation:
        conversation = await lock(tx, hint.conversation)
        if conversation is None or await quiet_hours.hold_back_again(tx, conversation, DeliveryId(hint.delivery)):
            return None
    row = await tx.one(_CLAIM, delivery=hint.delivery, lease=tx.lease, instance=tx.instance)
    if row is None:
        await tx.run(_NOT_YET, delivery=hint.delivery)
        return None
    posting = await _posting(tx, row)
    if row.disabled:
        await settle(tx, posting, Refused("the webhook was disabled by its receiver (410)", final=True))
        return None
    if row.crashes > 1 and float(row.age) >= tx.settings.delivery.give_up_seconds:
        await settle(tx, posting, Unknown("its worker died in every attempt"))
        return None
    return posting


async def _posting(tx: Transaction, row: Row) -> Posting:
    organization = await tx.specs.organization(tx.connection, row.org_id, row.version)
    webhook = organization.webhook
    return Posting(
        delivery=DeliveryId(row.id),
        webhook_id=row.webhook_id,
        org=OrgId(row.org_id),
        conversation=None if row.conversation_id is None else ConversationId(row.conversation_id),
        candidate=None if row.candidate_id is None else CandidateId(row.candidate_id),
        type=row.type,
        body=row.body,
        fence=row.fence,
        attempt=row.attempts,
        endpoint=None if webhook is None else Endpoint(str(webhook.url), webhook.secret.get_secret_value()),
    )
