"""API keys, for admins: make one (shown once), list them, revoke them."""

from typing import Annotated

from fastapi import APIRouter, Query
from fastapi.responses import Response

from schemas.answers import KeyIn, KeyMade, KeyOut, Page
from schemas.errors import Conflict
from schemas.ids import KeyId, cursor_pattern
from workers.gateway.auth import allows
from workers.gateway.refusals import refusals
from workers.gateway.routing import By, GuardedRoute, The, answer, known_number

router = APIRouter(prefix="/v1/keys", tags=["keys"], route_class=GuardedRoute)


@router.post("", status_code=201, response_model=KeyMade, responses=refusals(404, 409))
@allows()
async def create_key(parts: The, caller: By, wanted: KeyIn) -> Response:
    """The only time the key is shown. Roles app and operator belong to the organisation named here or in the header."""
    if wanted.role.of_one_organization and wanted.organization is None and caller.named is None:
        raise await parts.guard.unnamed()
    return answer(await parts.keys.create(wanted, caller), 201)


Cursor = Annotated[str | None, Query(pattern=cursor_pattern("key"))]


@router.get("", response_model=Page[KeyOut], responses=refusals(404))
@allows()
async def list_keys(
    parts: The, caller: By, cursor: Cursor = None, limit: Annotated[int, Query(ge=1, le=200)] = 50
) -> Response:
    """Newest first, the revoked ones too."""
    return answer(await parts.keys.list(caller.org, cursor, limit))


@router.delete("/{id}", response_model=KeyOut, responses=refusals(404, 409))
@allows()
async def revoke_key(parts: The, caller: By, id: str) -> Response:
    """Other gateways may believe the key for `REPLIQUE_GATEWAY__KNOWN_KEY_SECONDS` more. Nobody shuts themselves out:
    the key of the call itself is refused with 409."""
    key = KeyId(known_number("key", id))
    if key == caller.key.id:
        raise Conflict("this is the key you are calling with; revoke it with another one")
    revoked = await parts.keys.revoke(caller.org, key, caller.who)
    parts.guard.forget(key)
    return answer(revoked)
