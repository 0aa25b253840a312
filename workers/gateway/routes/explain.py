"""Why there is no answer."""

from fastapi import APIRouter
from fastapi.responses import Response

from pipelines.ops.explain import explain
from schemas.access import Role
from schemas.ops import Around, ExplainOut
from workers.gateway.auth import allows
from workers.gateway.refusals import refusals
from workers.gateway.routing import By, GuardedRoute, The, answer, known_name

router = APIRouter(prefix="/v1/explain", tags=["explain"], route_class=GuardedRoute)


@router.get("/{id}", response_model=ExplainOut, responses=refusals(404, 409))
@allows(Role.APP, Role.OPERATOR, Role.OPS)
async def explain_silence(parts: The, caller: By, id: str) -> Response:
    """Why is there no answer? `id` is a job's, else a conversation's, else a message's. One reason, and what to do."""
    facts, organization, conversation = await parts.explain.facts(caller.org, known_name(id))
    redis = await parts.redis()
    found = explain(facts, Around(redis.get("reachable"), redis.get("clock_seen")))
    told = ExplainOut(
        subject=id,
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
    )
    return answer(told)
