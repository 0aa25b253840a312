"""Why there is no answer, for the route and for the pages that show it."""

from pipelines.ops.explain import explain
from schemas.ids import OrgId
from schemas.ops import Around, ExplainOut
from workers.gateway.parts import Parts


async def explained(parts: Parts, org: OrgId | None, subject: str) -> ExplainOut:
    """`subject` is a job's id, else a conversation's, else a message's. Raises NotFound, Conflict."""
    facts, organization, conversation = await parts.explain.facts(org, subject)
    redis = await parts.redis()
    found = explain(facts, Around(redis.get("reachable"), redis.get("clock_seen")))
    return ExplainOut(
        subject=subject,
        kind=facts.subject,
        organization=organization,
        conversation=conversation,
        job=facts.job.id if facts.job else None,
        cause=found.cause,
        code=found.code,
        sentence=found.sentence,
        since=found.since,
        until=found.until,
        who=found.who,
        next=found.next,
        facts=dict(found.facts),
        simulated=parts.simulated,
    )
