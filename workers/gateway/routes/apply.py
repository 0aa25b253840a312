"""Provisioning."""

from fastapi import APIRouter
from fastapi.responses import Response

from schemas.answers import ApplyOut
from schemas.manifest import Manifest
from schemas.resources import OrganizationDocument
from workers.gateway.auth import allows
from workers.gateway.refusals import refusals
from workers.gateway.routing import By, GuardedRoute, The, answer

router = APIRouter(prefix="/v1/apply", tags=["provisioning"], route_class=GuardedRoute)


@router.post("", response_model=ApplyOut, responses=refusals(404, 409))
@allows(may_create=True)
async def apply(parts: The, caller: By, manifest: Manifest) -> Response:
    """Bring resources to what the documents say, all or nothing. A document is the whole truth about its resource: what
    it leaves out returns to its default. 409 with `version` and `text` asks who answers for a missing notice."""
    if caller.named is None and not any(isinstance(item, OrganizationDocument) for item in manifest.resources):
        raise await parts.guard.unnamed()
    return answer(await parts.provision.apply(caller.named, manifest, caller.who))
