"""A payment bubble's time has come: what it sells is checked again, and its payment found or opened.

The payment is a row before any provider is asked, so that every attempt at its link, by whichever worker, names the
same order. An offer that is open already is the same payment and the same link.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from pipelines.delivery.bodies import Sale
from pipelines.selling import listed, offer_key, title, unasked, unsellable
from schemas.errors import Code
from schemas.ids import CandidateId, JobId, PaymentId, reference
from schemas.money import Price
from schemas.payments import Offering, Order
from workers.adapters.postgres import preparing
from workers.adapters.postgres.jobs import Job
from workers.adapters.postgres.locks import Locked
from workers.adapters.postgres.shop import wares_for
from workers.adapters.postgres.transaction import Row, Transaction, sql

# A link that is about to sell nothing any more is not sent.
_EXPIRE = sql("""
UPDATE payments SET state = 'expired', ended_at = clock_timestamp()
WHERE contact_id = :contact AND offer = :offer AND state = 'open'
  AND expires_at < clock_timestamp() + interval '10 minutes'
""")

_OPEN = sql("""
INSERT INTO payments (org_id, persona_id, contact_id, conversation_id, job_id, candidate_id, offer, media_ids, amount,
                      currency, state, provider)
SELECT :org, :persona, :contact, :conversation, :job, :candidate, :offer, (
         SELECT jsonb_agg(m.id ORDER BY array_position(CAST(:names AS text[]), m.name))
         FROM media_items m WHERE m.org_id = :org AND m.name = ANY(:names)),
       :amount, :currency, 'open', :provider
ON CONFLICT (contact_id, offer) WHERE state = 'open' DO UPDATE SET offer = EXCLUDED.offer
RETURNING id, url, (SELECT tag FROM installation ORDER BY installation.id LIMIT 1) AS tag
""")

MEDIA_OF = """jsonb_array_elements_text(p.media_ids) WITH ORDINALITY AS n (id, place)
CROSS JOIN LATERAL (SELECT * FROM media_items WHERE id = CAST(n.id AS bigint) LIMIT 1) AS m"""
"""The media `m` of a payment `p`, each looked up by its key: what the planner guesses of a JSON list, it would rather
read all media for."""

# What was asked for several is told of each by what it is listed at.
SHARES = f"""
SELECT p.org_id, p.contact_id, p.persona_id, m.id AS media_id, p.currency, p.id AS payment_id,
       round(p.amount * COALESCE(m.price / NULLIF(sum(m.price) OVER (), 0), 1.0 / count(*) OVER ()), 2) AS amount
FROM payments p CROSS JOIN LATERAL {MEDIA_OF} WHERE p.id = :payment
"""

_PROPOSED = sql(f"""
INSERT INTO media_facts (org_id, contact_id, persona_id, media_id, what, amount, currency, candidate_id, job_id,
                         payment_id)
SELECT s.org_id, s.contact_id, s.persona_id, s.media_id, 'offered', s.amount, s.currency, :candidate, :job,
       s.payment_id
FROM ({SHARES}) AS s
WHERE NOT EXISTS (SELECT 1 FROM media_facts f WHERE f.candidate_id = :candidate)
""")


@dataclass(frozen=True, slots=True)
class Sold:
    """What a payment bubble sells, as it stands in its row."""

    media: Sequence[str]
    types: Sequence[str]
    price: Price

    @classmethod
    def of(cls, look: Row) -> "Sold":
        media = look.sold or ()
        price = Price(Decimal(look.price["amount"]), look.price["currency"])
        return cls([item["id"] for item in media], [item["type"] for item in media], price)


async def take(tx: Transaction, conversation: Locked, job: Job, look: Row) -> Offering | Sale | None:
    """A sale may leave at once: its link is there already. None: a person is asked first, since it may not be sold, or
    its worker has died too often."""
    sold = Sold.of(look)
    if await refused(tx, conversation, job, look, sold):
        return None
    row = await _opened(tx, conversation, job, look, sold)
    if row.url is not None:
        return Sale(PaymentId(row.id), row.url, sold.price, sold.media)
    candidate = CandidateId(look.candidate)
    fence = await preparing.lease(tx, conversation, job, candidate, Code.PAYMENT_LINK)
    if fence is None:
        return None
    order = _order(conversation, look, row, sold)
    return Offering(job.id, conversation.id, conversation.org, fence, candidate, look.version, order, job.due_at)


async def refused(tx: Transaction, conversation: Locked, job: Job, look: Row, sold: Sold) -> bool:
    """Row 29. True: what it sells was bought, withdrawn or priced anew since it was drafted, and a person is asked."""
    wares = await wares_for(tx, conversation, sold.media)
    why = unsellable(sold.media, wares)
    if why is None:
        total = listed([wares[name] for name in sold.media])
        why = unasked(sold.price, total, conversation.persona.spec.prices)
    if why is None:
        return False
    await preparing.ask(tx, conversation, job, CandidateId(look.candidate), Code.PAYMENT_LINK, why, "not_for_sale")
    return True


async def proposed(tx: Transaction, job: JobId, candidate: CandidateId, payment: PaymentId) -> None:
    """The link has left: from now on the contact was offered this."""
    await tx.run(_PROPOSED, job=job, candidate=candidate, payment=payment)


async def _opened(tx: Transaction, conversation: Locked, job: Job, look: Row, sold: Sold) -> Row:
    provider = tx.settings.payment_provider.value
    offer = f"{provider}:{offer_key(sold.media, sold.price)}"
    await tx.run(_EXPIRE, contact=conversation.contact_id, offer=offer)
    return await tx.the(
        _OPEN,
        org=conversation.org,
        persona=conversation.persona.id,
        contact=conversation.contact_id,
        conversation=conversation.id,
        job=job.id,
        candidate=look.candidate,
        offer=offer,
        names=list(sold.media),
        amount=sold.price.amount,
        currency=sold.price.currency,
        provider=provider,
    )


def _order(conversation: Locked, look: Row, row: Row, sold: Sold) -> Order:
    spec = conversation.persona.spec
    language = spec.language or look.locale or conversation.organization.spec.locale
    name = spec.display_name or conversation.persona.name
    payment = PaymentId(row.id)
    # The tag, because two installations may share an account with a provider.
    key = f"replique-{row.tag}-{reference('pay', payment)}"
    return Order(payment, key, sold.price, title(name, sold.types, language), language)
