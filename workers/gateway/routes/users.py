"""People who sign in to the console, for admins: make one, list them, let them in anew, shut them out."""

from typing import Annotated

from fastapi import APIRouter, Query
from fastapi.responses import Response

from schemas.answers import Page
from schemas.ids import UserId, cursor_pattern
from schemas.users import UserIn, UserLinkOut, UserMade, UserOut
from workers.gateway.auth import allows
from workers.gateway.refusals import refusals
from workers.gateway.routing import By, GuardedRoute, The, answer, known_number

router = APIRouter(prefix="/v1/users", tags=["users"], route_class=GuardedRoute)

Cursor = Annotated[str | None, Query(pattern=cursor_pattern("user"))]


@router.post("", status_code=201, response_model=UserMade, responses=refusals(404, 409))
@allows()
async def add_user(parts: The, caller: By, wanted: UserIn) -> Response:
    """A person who may sign in, and the one-time link under which they set their password. The link is shown once."""
    return answer(await parts.users.add(wanted, caller), 201)


@router.get("", response_model=Page[UserOut], responses=refusals(404))
@allows()
async def list_users(
    parts: The, caller: By, cursor: Cursor = None, limit: Annotated[int, Query(ge=1, le=200)] = 50
) -> Response:
    """Newest first, the disabled ones too."""
    return answer(await parts.users.list(caller.org, cursor, limit))


@router.post("/{id}/link", response_model=UserLinkOut, responses=refusals(404, 409))
@allows()
async def link_user(parts: The, caller: By, id: str) -> Response:
    """A new one-time link; earlier ones are void. 409 when the user is disabled."""
    return answer(await parts.users.link(caller.org, _user(id), caller.who))


@router.delete("/{id}", response_model=UserOut, responses=refusals(404, 409))
@allows()
async def disable_user(parts: The, caller: By, id: str) -> Response:
    """Signed out at once, and out for good. What they did keeps their name."""
    return answer(await parts.users.disable(caller.org, _user(id), caller.who))


def _user(reference: str) -> UserId:
    return UserId(known_number("user", reference))
