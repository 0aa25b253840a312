"""People who sign in to the console, for admins: make one, list them, let them in anew, shut them out."""

from typing import Annotated

from fastapi import APIRouter, Query
from fastapi.responses import Response

from pipelines.text import storable
from schemas.answers import Page
from schemas.ids import OrgId, UserId, cursor_pattern, number_of
from schemas.users import UserIn, UserLinkOut, UserMade, UserOut
from workers.gateway.auth import allows
from workers.gateway.parts import Parts
from workers.gateway.refusals import refusals
from workers.gateway.routing import By, GuardedRoute, The, answer

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
    """A new one-time link; earlier ones are void. `id` may be their address or name. 409 when the user is disabled, or
    several are called that."""
    return answer(await parts.users.link(caller.org, await _user(parts, caller.org, id), caller.who))


@router.delete("/{id}", response_model=UserOut, responses=refusals(404, 409))
@allows()
async def disable_user(parts: The, caller: By, id: str) -> Response:
    """Signed out at once, and out for good. What they did keeps their name. `id` may be their address or name; 409 when
    several are called that."""
    return answer(await parts.users.disable(caller.org, await _user(parts, caller.org, id), caller.who))


async def _user(parts: Parts, org: OrgId | None, word: str) -> UserId:
    number = number_of("user", word)
    return await parts.users.called(org, storable(word)) if number is None else UserId(number)
