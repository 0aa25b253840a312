"""Conversations: read them, take them over, give them back."""

from typing import Annotated

from fastapi import APIRouter, Query
from fastapi.responses import Response

from schemas.access import Role
from schemas.answers import ConversationOut, ResumeOut, TakeoverOut
from schemas.conversation import HandledBy
from schemas.ids import cursor_pattern, reference
from workers.gateway.auth import allows
from workers.gateway.refusals import refusals
from workers.gateway.routing import By, GuardedRoute, The, answer, known_name, org_of

router = APIRouter(prefix="/v1/conversations", tags=["conversations"], route_class=GuardedRoute)

Cursor = Annotated[str | None, Query(pattern=cursor_pattern("msg"))]


@router.get("/{id}", response_model=ConversationOut, responses=refusals(404, 409))
@allows(Role.APP, Role.OPERATOR, Role.OPS, scoped=True)
async def read_conversation(
    parts: The, caller: By, id: str, cursor: Cursor = None, limit: Annotated[int, Query(ge=1, le=1000)] = 200
) -> Response:
    """The conversation with its newest messages, in order. `next` leads to older ones."""
    return answer(await parts.conversations.one(caller.org, known_name(id), cursor, limit))


@router.post("/{id}/takeover", response_model=TakeoverOut, responses=refusals(404, 409))
@allows(Role.OPERATOR, scoped=True)
async def takeover(parts: The, caller: By, id: str) -> Response:
    """A person answers from now on: what the AI had ready is recalled. 409 when somebody else already does."""
    await parts.transitions.takeover(org_of(caller), known_name(id), caller.who)
    return answer(TakeoverOut(conversation=id, handled_by=HandledBy.HUMAN, by=caller.who))


@router.post("/{id}/resume", response_model=ResumeOut, responses=refusals(404, 409))
@allows(Role.OPERATOR, scoped=True)
async def resume(parts: The, caller: By, id: str) -> Response:
    """The AI may answer again; at once, when the contact still waits."""
    job = await parts.transitions.resume(org_of(caller), known_name(id), caller.who)
    return answer(ResumeOut(conversation=id, job=None if job is None else reference("job", job)))
