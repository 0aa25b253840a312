"""How much waits, and since when."""

from fastapi import APIRouter
from fastapi.responses import Response

from schemas.access import Role
from schemas.queues import QueuesOut
from workers.gateway.auth import allows
from workers.gateway.refusals import refusals
from workers.gateway.routing import By, GuardedRoute, The, answer

router = APIRouter(prefix="/v1/queues", tags=["queues"], route_class=GuardedRoute)


@router.get("", response_model=QueuesOut, responses=refusals(404))
@allows(Role.OPS)
async def list_queues(parts: The, caller: By) -> Response:
    """Every queue, of all organisations or of the one an admin named."""
    return answer(QueuesOut(items=await parts.counter.queues(caller.org), simulated=parts.simulated))
