"""What the model calls cost: the ledger, summed up."""

from typing import Annotated

from fastapi import APIRouter, Query
from fastapi.responses import Response

from schemas.access import Role
from schemas.costs import CostGroup, CostsOut
from schemas.errors import Invalid
from schemas.http import SentAt
from workers.gateway.auth import allows
from workers.gateway.refusals import refusals
from workers.gateway.routing import By, GuardedRoute, The, answer

router = APIRouter(prefix="/v1/costs", tags=["costs"], route_class=GuardedRoute)


@router.get("", response_model=CostsOut, responses=refusals(404))
@allows(Role.APP, Role.OPERATOR, Role.OPS)
async def read_costs(
    parts: The,
    caller: By,
    group: CostGroup = CostGroup.ORG,
    since: Annotated[SentAt | None, Query(description="Default: the first of this month, UTC.")] = None,
    until: Annotated[SentAt | None, Query(description="Not included. Default: now.")] = None,
    limit: Annotated[int, Query(ge=1, le=1000)] = 200,
) -> Response:
    """What the calls begun in that time cost, and how organisations stand to their plans: of all of them, or of the
    caller's."""
    if since is not None and until is not None and since > until:
        raise Invalid("since is after until", [{"field": "since", "message": "it is after until"}])
    return answer(await parts.costs.sums(caller.org, group, since, until, limit))
