"""Is the installation well?"""

from fastapi import APIRouter
from fastapi.responses import Response

from schemas.access import Role
from schemas.health import DoctorOut
from workers.gateway.auth import allows
from workers.gateway.refusals import refusals
from workers.gateway.routing import By, GuardedRoute, The, answer

router = APIRouter(prefix="/v1/doctor", tags=["doctor"], route_class=GuardedRoute)


@router.get("", response_model=DoctorOut, responses=refusals(404))
@allows(Role.OPS)
async def examine(parts: The, caller: By) -> Response:
    """Looks at servers, clock, workers, webhooks, models, prompts and files. Always 200: `ok` says how it is."""
    return answer(await parts.doctor.examine())
