"""What upstream apps post: messages, their edits and deletions."""

from fastapi import APIRouter
from fastapi.responses import Response

from schemas.access import Role
from schemas.http import Ingested, MessageIn, MessagePatch
from workers.gateway.auth import allows
from workers.gateway.refusals import refusals
from workers.gateway.routing import By, GuardedRoute, The, answer, known_name, org_of

router = APIRouter(prefix="/v1/messages", tags=["messages"], route_class=GuardedRoute)


@router.post("", status_code=202, response_model=Ingested, responses=refusals(404, 409))
@allows(Role.APP, Role.OPERATOR, scoped=True)
async def post_message(parts: The, caller: By, message: MessageIn) -> Response:
    """Take a message. The same `id` again is the same message, whatever the second body says."""
    return answer(await parts.transitions.ingest(org_of(caller), message), 202)


@router.patch("/{id}", status_code=202, response_model=Ingested, responses=refusals(404, 409))
@allows(Role.APP, Role.OPERATOR, scoped=True)
async def edit_message(parts: The, caller: By, id: str, patch: MessagePatch) -> Response:
    """The contact edited it: an unanswered message is thought about again."""
    return answer(await parts.transitions.edit_message(org_of(caller), known_name(id), patch), 202)


@router.delete("/{id}", status_code=202, response_model=Ingested, responses=refusals(404, 409))
@allows(Role.APP, Role.OPERATOR, scoped=True)
async def delete_message(parts: The, caller: By, id: str) -> Response:
    """The contact took it back."""
    return answer(await parts.transitions.delete_message(org_of(caller), known_name(id)), 202)
