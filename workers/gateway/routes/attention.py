"""The attention list: what a person must look at. It is read with `GET /v1/jobs?attention=true`."""

from fastapi import APIRouter
from fastapi.responses import Response

from schemas.access import Role
from schemas.http import JobOut, ReasonIn
from schemas.ids import JobId
from workers.gateway.auth import allows
from workers.gateway.refusals import refusals
from workers.gateway.routing import By, GuardedRoute, The, answer, as_made, known_number

router = APIRouter(prefix="/v1/attention", tags=["attention"], route_class=GuardedRoute)


@router.post("/{job}/dismiss", response_model=JobOut, responses=refusals(404, 409))
@allows(Role.OPERATOR)
async def dismiss(parts: The, caller: By, job: str, why: ReasonIn) -> Response:
    """Done with it, for this reason. 409 when it is not on the list (any more)."""
    number = JobId(known_number("job", job))
    await parts.transitions.dismiss(caller.org, number, why.reason, caller.who)
    return answer(await as_made(parts.jobs.one(caller.org, number)))
