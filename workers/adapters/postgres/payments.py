"""What became of a payment. What was paid is owed: its media are a job of their own, beside the conversation's reply.

The payment's own row makes it happen once, whoever tells it, however often, from wherever.
"""

from decimal import Decimal

from pipelines.delivery import bodies
from pipelines.delivery.bodies import Sale
from pipelines.selling import exact, moves
from schemas.answers import PaymentOut
from schemas.claims import JobState, NoJob
from schemas.conversation import Flag
from schemas.errors import NotFound
from schemas.ids import JobId, OrgId, PaymentId, reference
from schemas.jobs import DelayedSend
from schemas.money import Price
from schemas.payments import PaymentProvider, PaymentState
from workers.adapters.postgres import attention
from workers.adapters.postgres.audit import note
from workers.adapters.postgres.dispatch_now import DISPATCHED_SEND
from workers.adapters.postgres.jobs import EVENT, facts, read, read_or_refuse, send_away
from workers.adapters.postgres.locks import Locked, lock
from workers.adapters.postgres.offering import MEDIA_OF, SHARES
from workers.adapters.postgres.transaction import Row, Transaction, sql
from workers.adapters.postgres.webhooks import insert_for

_WHERE = sql("SELECT conversation_id, org_id FROM payments WHERE id = :payment")

_OF_PROVIDER = sql("SELECT id FROM payments WHERE provider = :provider AND reference = :reference")

_NAMES = f"(SELECT json_agg(m.name ORDER BY n.place) FROM {MEDIA_OF}) AS names"
_COLUMNS = f"p.id, p.state, p.amount, p.currency, p.url, p.paid_reference, p.delivery_job_id, {_NAMES}"

# The contact's row first: two links over one media, paid in two conversations, are looked at one after the other.
_READ = sql(f"""
SELECT {_COLUMNS}, ct.locked_at IS NOT NULL AS locked
FROM payments p JOIN contacts ct ON ct.id = p.contact_id
WHERE p.id = :payment FOR NO KEY UPDATE OF ct, p
""")

_MOVE = sql("""
UPDATE payments
SET state = :to, paid_reference = COALESCE(CAST(:reference AS text), paid_reference),
    paid_at = CASE WHEN :to = 'paid' THEN clock_timestamp() ELSE paid_at END,
    ended_at = CASE WHEN :to = 'paid' THEN NULL ELSE clock_timestamp() END
WHERE id = :payment AND state = :from
""")

# What was bought already, under another link, is not handed over again.
_DELIVER = sql(f"""
WITH had AS (
  SELECT f.media_id FROM media_facts f JOIN payments p ON p.id = :payment AND p.contact_id = f.contact_id
  WHERE f.what = 'bought' AND f.payment_id <> p.id
), made AS (
  INSERT INTO jobs (org_id, conversation_id, queue, kind, trigger, state, inbound_seq, first_message_at, due_at,
                    dispatched_at)
  VALUES (:org, :conversation, 'send', 'delivery', 'payment', 'sending', :seq, clock_timestamp(), clock_timestamp(),
          {DISPATCHED_SEND})
  RETURNING id, dispatched_at
), bubbles AS (
  INSERT INTO candidates (org_id, job_id, conversation_id, ordinal, kind, state, text, media)
  SELECT :org, made.id, :conversation, row_number() OVER (ORDER BY n.place) - 1,
         CASE m.type WHEN 'photo' THEN 'image' ELSE m.type END, 'held', '',
         json_build_array(json_build_object('id', m.name, 'url', m.url, 'type', m.type))
  FROM made CROSS JOIN payments p CROSS JOIN LATERAL {MEDIA_OF}
  WHERE p.id = :payment AND NOT EXISTS (SELECT 1 FROM had WHERE had.media_id = m.id)
  RETURNING id
), bought AS (
  INSERT INTO media_facts (org_id, contact_id, persona_id, media_id, what, amount, currency, job_id, payment_id)
  SELECT s.org_id, s.contact_id, s.persona_id, s.media_id, 'bought', s.amount, s.currency, made.id, s.payment_id
  FROM made, ({SHARES}) AS s
  ON CONFLICT (contact_id, media_id) WHERE what = 'bought' DO NOTHING
), known AS (
  UPDATE payments SET delivery_job_id = made.id FROM made WHERE payments.id = :payment
), told AS ({EVENT.format(of="made", frm="NULL", to="'sending'")})
SELECT id, dispatched_at IS NOT NULL AS dispatched, (SELECT count(*) FROM bubbles) AS bubbles FROM made
""")

# Nobody is to pay twice: other links that sell some of it are not sent any more.
_OUTDATED = sql("""
WITH outdated AS (
  SELECT o.id FROM payments o JOIN payments p ON p.id = :payment
  WHERE o.contact_id = p.contact_id AND o.state = 'open' AND EXISTS (
    SELECT 1 FROM jsonb_array_elements(o.media_ids) AS a (id) WHERE p.media_ids @> a.id)
  ORDER BY o.id FOR NO KEY UPDATE OF o
)
UPDATE payments SET state = 'expired', ended_at = clock_timestamp() FROM outdated WHERE payments.id = outdated.id
""")

# What has not been shown was not bought after all, and may be offered again.
_UNBOUGHT = sql("""
DELETE FROM media_facts f USING payments p
WHERE p.id = :payment AND f.contact_id = p.contact_id AND f.persona_id = p.persona_id AND f.payment_id = p.id
  AND f.what = 'bought' AND NOT EXISTS (
    SELECT 1 FROM candidates k
    WHERE k.job_id = f.job_id AND k.state IN ('leaving', 'sent', 'failed')
      AND k.media -> 0 ->> 'id' = (SELECT m.name FROM media_items m WHERE m.id = f.media_id))
""")

_DELIVERED = sql(f"""
UPDATE payments p SET delivered_at = clock_timestamp()
WHERE p.delivery_job_id = :job AND p.delivered_at IS NULL
RETURNING {_COLUMNS}
""")
_TELL = sql(f"WITH done AS (SELECT 1) {insert_for('done', bodies.PAYMENT_DELIVERED, 'body')}")


async def told(
    tx: Transaction, org: OrgId | None, payment: PaymentId, to: PaymentState, word: str | None, who: str
) -> PaymentOut:
    """Row 35 when it was paid. `word` is what whoever tells it calls it. Raises NotFound, TooLate."""
    where = await tx.one(_WHERE, payment=payment)
    if where is None or (org is not None and where.org_id != org):
        raise NotFound("no such payment")
    conversation = await lock(tx, where.conversation_id)
    if conversation is None:
        raise NotFound("no such payment")
    row = await tx.the(_READ, payment=payment)
    state = PaymentState(row.state)
    if moves(state, to):
        await tx.run(_MOVE, payment=payment, to=to.value, reference=word, **{"from": state.value})
        more: dict[str, Flag] = {}
        if to is PaymentState.PAID and not conversation.erased:
            more = await _owe(tx, conversation, payment, row)
        if to is PaymentState.REFUNDED:
            await _take_back(tx, conversation, payment, row.delivery_job_id, who)
        subject = reference("pay", payment)
        await note(tx, conversation.org, who, f"payment.{to.value}", subject, reference=word, **more)
        row = await tx.the(_READ, payment=payment)
    return _shown(conversation, row)


async def named(tx: Transaction, provider: PaymentProvider, name: str) -> PaymentId | None:
    """By what its provider calls it."""
    row = await tx.one(_OF_PROVIDER, provider=provider.value, reference=name)
    return None if row is None else PaymentId(row.id)


async def delivered(tx: Transaction, conversation: Locked, job: JobId) -> None:
    """The last of what was paid for has been accepted."""
    row = await tx.one(_DELIVERED, job=job)
    if row is None:
        return
    sale = Sale(PaymentId(row.id), row.url, _price(row), row.names)
    whose = (conversation.name, conversation.contact, conversation.persona.name)
    body = bodies.payment_delivered(job, *whose, sale, row.paid_reference, conversation.now)
    await tx.run(_TELL, org=conversation.org, conversation=conversation.id, job=job, body=body)


async def _owe(tx: Transaction, conversation: Locked, payment: PaymentId, paid: Row) -> dict[str, Flag]:
    """Its media are delivered; unless the contact is locked, or has bought them already. Answers, as `refund`, why a
    person is asked to give the money back."""
    made = await _deliver(tx, conversation, payment, fast=not paid.locked)
    await tx.run(_OUTDATED, payment=payment)
    double = made.bubbles < len(paid.names or ())
    if made.dispatched and made.bubbles:
        tx.hints.append(DelayedSend(conversation=conversation.id, job=made.id))
    if not paid.locked and not double:
        return {}
    job = await read_or_refuse(tx, conversation, made.id)
    if paid.locked or not made.bubbles:
        reason = NoJob.SAFETY_LOCK.value if paid.locked else Flag.BOUGHT_ALREADY.value
        await send_away(tx, conversation, job, JobState.CANCELLED, reason, "payment")
    why = Flag.PAID_LOCKED if paid.locked else Flag.BOUGHT_ALREADY
    await attention.flag(tx, conversation, job, why)
    return {"refund": why}


async def _deliver(tx: Transaction, conversation: Locked, payment: PaymentId, *, fast: bool) -> Row:
    return await tx.the(
        _DELIVER,
        org=conversation.org,
        conversation=conversation.id,
        payment=payment,
        seq=conversation.inbound_seq,
        fast=fast,
        cap=conversation.organization.spec.limits.in_flight,
        who="payment",
        why="paid",
        facts=facts(payment=reference("pay", payment)),
    )


async def _take_back(
    tx: Transaction, conversation: Locked, payment: PaymentId, delivery: JobId | None, who: str
) -> None:
    """Money went back: what has not left stays here."""
    job = None if delivery is None else await read(tx, conversation, delivery)
    if job is not None and job.state.live:
        await send_away(tx, conversation, job, JobState.CANCELLED, "refunded", who)
    await tx.run(_UNBOUGHT, payment=payment)


def _shown(conversation: Locked, row: Row) -> PaymentOut:
    price = _price(row)
    return PaymentOut(
        id=reference("pay", row.id),
        conversation=conversation.name,
        state=PaymentState(row.state),
        amount=str(price.amount),
        currency=price.currency,
        media_ids=row.names or [],
        url=row.url,
        reference=row.paid_reference,
        job=None if row.delivery_job_id is None else reference("job", row.delivery_job_id),
    )


def _price(row: Row) -> Price:
    return exact(Price(Decimal(row.amount), row.currency))
