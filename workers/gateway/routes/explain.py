"""Why there is no answer."""

from fastapi import APIRouter
from fastapi.responses import Response

from schemas.access import Role
from schemas.ops import ExplainOut
from workers.gateway.auth import allows
from workers.gateway.explaining import explained
from workers.gateway.refusals import refusals
from workers.gateway.routing import By, GuardedRoute, The, answer, known_name

router = APIRouter(prefix="/v1/explain", tags=["explain"], route_class=GuardedRoute)


@router.get("/{id}", response_model=ExplainOut, responses=refusals(404, 409))
@allows(Role.APP, Role.OPERATOR, Role.OPS)
async def explain_silence(parts: The, caller: By, id: str) -> Response:
    """Why is there no answer? `id` is a job's, else a conversation's, else a message's. One reason, and what to do."""
    return answer(await explained(parts, caller.org, known_name(id)))
