"""What contacts may ask for: what is held about them, and that it be erased."""

from fastapi import APIRouter
from fastapi.responses import Response

from schemas.access import Role
from schemas.ids import ErasureId
from schemas.rights import ErasureOut, ExportOut
from workers.gateway.auth import allows
from workers.gateway.refusals import refusals
from workers.gateway.routing import By, GuardedRoute, The, answer, known_name, known_number, org_of

router = APIRouter(prefix="/v1", tags=["contacts"], route_class=GuardedRoute)


@router.delete("/contacts/{id}", status_code=202, response_model=ErasureOut, responses=refusals(404))
@allows(Role.APP, Role.OPERATOR, scoped=True)
async def erase_contact(parts: The, caller: By, id: str) -> Response:
    """Erase a contact. From this answer on nobody is known under that name, what was live has ended, and who writes
    under it is somebody new. The rest goes in the background: the receipt says how far it is, store by store."""
    return answer(await parts.rights.erase(org_of(caller), known_name(id), caller.who), 202)


@router.get("/erasures/{id}", response_model=ErasureOut, responses=refusals(404))
@allows(Role.APP, Role.OPERATOR, scoped=True)
async def read_erasure(parts: The, caller: By, id: str) -> Response:
    """The receipt of an erasure. `done` when nothing is left in any store."""
    return answer(await parts.rights.erasure(org_of(caller), ErasureId(known_number("era", id))))


@router.get("/contacts/{id}/export", response_model=ExportOut, responses=refusals(404))
@allows(Role.APP, Role.OPERATOR, scoped=True)
async def export_contact(parts: The, caller: By, id: str) -> Response:
    """Everything held about a contact, as of one moment."""
    return answer(await parts.exports.of(org_of(caller), known_name(id)))
