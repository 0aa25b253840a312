"""Conversations: read them, take them over, give them back."""

from typing import Annotated

from fastapi import APIRouter, Query
from fastapi.responses import Response

from schemas.access import Role
from schemas.answers import ConsentOut, ConsentRecordOut, ConversationOut, Page, ReopenOut, ResumeOut, TakeoverOut
from schemas.conversation import HandledBy
from schemas.http import ConsentIn, ReopenIn
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


@router.post("/{id}/consent", response_model=ConsentOut, responses=refusals(404, 409))
@allows(Role.APP, Role.OPERATOR, scoped=True)
async def consent(parts: The, caller: By, id: str, given: ConsentIn | None = None) -> Response:
    """The contact has agreed to be written to again: kept for good, and the AI may answer what comes next."""
    how, proof = (given.how, given.proof) if given else (None, None)
    await parts.transitions.consent(org_of(caller), known_name(id), caller.who, how, proof)
    shown = await parts.conversations.one(caller.org, id, None, 1)
    return answer(ConsentOut(conversation=id, contact=shown.contact.id))


@router.get("/{id}/consent", response_model=Page[ConsentRecordOut], responses=refusals(404, 409))
@allows(Role.APP, Role.OPERATOR, Role.OPS, scoped=True)
async def read_consent(parts: The, caller: By, id: str) -> Response:
    """What the conversation's contact has said no and yes to, and who opened a safety lock; oldest first."""
    return answer(await parts.conversations.consents(caller.org, known_name(id)))


@router.post(
    "/{id}/reopen",
    response_model=ReopenOut,
    responses=refusals(404, 409) | {202: {"model": ReopenOut, "description": "A second person must confirm it"}},
)
@allows(Role.OPERATOR, scoped=True)
async def reopen(parts: The, caller: By, id: str, why: ReopenIn | None = None) -> Response:
    """Open the safety lock of the conversation's contact. Two different people must ask: the first with a reason."""
    found = await parts.transitions.reopen(org_of(caller), known_name(id), caller.who, why.reason if why else None)
    shown = ReopenOut(
        conversation=id,
        state="open" if found.confirmed_by else "pending",
        asked_by=found.asked_by,
        asked_at=found.asked_at,
        confirmed_by=found.confirmed_by,
    )
    return answer(shown, 200 if found.confirmed_by else 202)
