"""What a run must know of money when it begins: read in the row of the claim, so that it costs no round trip."""

from decimal import Decimal

from pipelines.selling import in_one
from schemas.conversation import MoneyFacts
from schemas.groups import FxSettings
from workers.adapters.postgres.transaction import Row

# Links that left, and those that wait in the contact's other replies of this persona.
MONEY = """(
  SELECT json_build_object('links', (
      SELECT count(DISTINCT f.candidate_id) FROM media_facts f
      WHERE f.contact_id = yc.contact_id AND f.persona_id = yc.persona_id AND f.what = 'offered'
        AND f.at > clock_timestamp() - interval '24 hours'
    ) + (
      SELECT count(*) FROM conversations oc JOIN jobs oj ON oj.conversation_id = oc.id
      JOIN candidates ok ON ok.job_id = oj.id
      WHERE oc.contact_id = yc.contact_id AND oc.persona_id = yc.persona_id AND oj.kind <> 'delivery'
        AND oj.state IN ('held', 'sending') AND oj.id <> j.id AND ok.kind = 'payment'
        AND ok.state IN ('held', 'preparing')
    ), 'spent', (
      SELECT json_object_agg(s.currency, CAST(s.amount AS text)) FROM (
        SELECT p.currency, sum(p.amount) AS amount FROM payments p
        WHERE p.contact_id = yc.contact_id AND p.persona_id = yc.persona_id AND p.state = 'paid'
          AND p.paid_at > clock_timestamp() - interval '24 hours'
        GROUP BY p.currency) AS s
    )) FROM conversations yc WHERE yc.id = j.conversation_id
) AS money"""
"""A column beside the job `j`."""


def money(look: Row, currency: str, fx: FxSettings) -> MoneyFacts:
    """Of a row with the column `MONEY`, in `currency`."""
    spent = {of: Decimal(amount) for of, amount in (look.money["spent"] or {}).items()}
    total, without = in_one(spent, currency, fx)
    return MoneyFacts(look.money["links"], total, without)
