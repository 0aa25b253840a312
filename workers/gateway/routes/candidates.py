"""The bubbles of a reply that waits: change one, drop one."""

from fastapi import APIRouter
from fastapi.responses import Response

from schemas.access import Role
from schemas.claims import CandidateState
from schemas.http import CandidateOut, CandidatePatch
from schemas.ids import CandidateId
from workers.gateway.auth import allows
from workers.gateway.refusals import refusals
from workers.gateway.routing import By, GuardedRoute, The, answer, as_made, known_number

router = APIRouter(prefix="/v1/candidates", tags=["candidates"], route_class=GuardedRoute)


@router.patch("/{id}", response_model=CandidateOut, responses=refusals(404, 409))
@allows(Role.OPERATOR)
async def edit_candidate(parts: The, caller: By, id: str, patch: CandidatePatch) -> Response:
    """Change its words, price or place. The countdown goes on. Words are rendered as the agent's are; what is too long
    for the channel becomes further bubbles behind this one. 409 when it has left, when somebody edited it since
    `version`, or when it is a notice."""
    await parts.transitions.edit_candidate(caller.org, _bubble(id), patch, caller.who)
    found = await as_made(parts.jobs.bubble(caller.org, _bubble(id)))
    # Read after the commit, it may have been dropped or sent since: the answer is of the edit, which left it held.
    return answer(found.model_copy(update={"state": CandidateState.HELD, "reason": None}))


@router.delete("/{id}", response_model=CandidateOut, responses=refusals(404, 409))
@allows(Role.OPERATOR)
async def drop_candidate(parts: The, caller: By, id: str) -> Response:
    """Drop one bubble; dropping the last ends the job. 409 when it has left, or is a notice."""
    await parts.transitions.drop_candidate(caller.org, _bubble(id), caller.who)
    return answer(await as_made(parts.jobs.bubble(caller.org, _bubble(id))))


def _bubble(reference: str) -> CandidateId:
    return CandidateId(known_number("bub", reference))
