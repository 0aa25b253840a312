"""What decides whether an ended job may be tried again, in one look: for whoever asks, before anybody tries."""

from typing import Any

from schemas.claims import JobState
from schemas.conversation import HandledBy
from schemas.ids import reference
from schemas.ops import AgainFacts
from workers.adapters.postgres.locks import CONTACT_FLAGS, why_closed

# A bubble has left once the receiver may have shown it; one that was clearly refused has not.
HAS_LEFT = """EXISTS (SELECT 1 FROM candidates k WHERE k.job_id = {job} AND (k.state IN ('leaving', 'sent')
         OR k.state = 'failed' AND EXISTS (
           SELECT 1 FROM deliveries d WHERE d.candidate_id = k.id AND d.ambiguous)))"""

LOOK = f"""
SELECT j.id, j.state, j.code, j.reason, j.kind <> 'delivery' AS replies, j.trigger = 'payment' AS bought,
       j.attention IS NOT DISTINCT FROM 'open' AS on_the_list, {HAS_LEFT.format(job="j.id")} AS has_left,
       (SELECT max(n.id) FROM jobs n WHERE n.conversation_id = j.conversation_id AND n.kind <> 'delivery') AS newest,
       {CONTACT_FLAGS}, c.handled_by, p.spec ->> 'autonomy' AS autonomy,
       c.inbound_seq <> j.inbound_seq OR c.operator_seq >= j.inbound_seq AS went_on,
       coalesce(c.paused_until > clock_timestamp(), false) AS paused,
       EXISTS (SELECT 1 FROM payments y WHERE y.delivery_job_id = j.id AND y.state = 'refunded') AS refunded
FROM jobs j JOIN conversations c ON c.id = j.conversation_id JOIN contacts ct ON ct.id = c.contact_id
JOIN personas p ON p.id = c.persona_id
WHERE j.id = :job
"""


def facts_of(row: Any) -> AgainFacts:
    return AgainFacts(
        state=JobState(row.state),
        code=row.code,
        reason=row.reason,
        replies=row.replies,
        bought=row.bought,
        on_the_list=row.on_the_list,
        has_left=row.has_left,
        newer_job=None if row.newest in (None, row.id) else reference("job", row.newest),
        erased=row.erased,
        closed=why_closed(row, HandledBy(row.handled_by), row.autonomy),
        went_on=row.went_on,
        paused=row.paused,
        refunded=row.refunded,
    )
