"""A payment bubble's link has been made, or not: everything is checked again before it leaves.

The link is kept in any case: whoever needs the same offer later sends the same one.
"""

from pipelines.delivery.bodies import Sale
from schemas.claims import Posting
from schemas.payments import Link, Offering, PaymentState
from workers.adapters.postgres import closed_links, offering, preparing, spoken
from workers.adapters.postgres.jobs import Job
from workers.adapters.postgres.locks import lock
from workers.adapters.postgres.offering import Sold
from workers.adapters.postgres.sends import Next, stopped
from workers.adapters.postgres.sends import leave as leave_now
from workers.adapters.postgres.transaction import Transaction, sql

# A lock may have closed the payment while the link was made.
_MADE = sql(f"""
WITH made AS (
  UPDATE payments
  SET url = COALESCE(url, :url), reference = COALESCE(reference, :reference),
      expires_at = COALESCE(expires_at, CAST(:expires_at AS timestamptz))
  WHERE id = :payment
  RETURNING state, url, org_id, conversation_id, provider, reference
), links AS (SELECT * FROM made WHERE state = 'expired'
), {closed_links.WANTED}
SELECT state, url FROM made
""")


async def leave(tx: Transaction, bubble: Offering, link: Link) -> Posting | None:
    """`preparing` to `leaving`. None: the bubble waits again (held, edited, another one is out), or its job ended."""
    conversation = await lock(tx, bubble.conversation)
    look = await spoken.mine(tx, conversation, bubble)
    payment = bubble.order.payment
    kept = await tx.the(_MADE, payment=payment, url=link.url, reference=link.reference, expires_at=link.expires_at)
    if conversation is None or look is None:
        return None
    job = Job.of(look)
    if await stopped(tx, conversation, look, job) or await spoken.waits_again(tx, conversation, look, job, bubble):
        return None
    sold = Sold.of(look)
    if await offering.refused(tx, conversation, job, look, sold):
        return None
    if kept.state != PaymentState.OPEN:
        await preparing.put_back(tx, conversation, job, bubble.candidate, "payment_closed", tries=job.tries)
        return None
    sale = Sale(payment, kept.url, sold.price, sold.media)
    return await leave_now(tx, conversation, job, Next.of(look, sale=sale), bubble.due_at)
