"""Rules: what they would have done."""

import asyncio

from fastapi import APIRouter
from fastapi.responses import Response

from pipelines.autoreply.strategy.dry_run import dry_run
from pipelines.autoreply.tools import TOOL_NAMES
from schemas.access import Role
from schemas.dry_run import DryRunIn, DryRunOut
from workers.gateway.auth import allows
from workers.gateway.refusals import refusals
from workers.gateway.routing import By, GuardedRoute, The, answer, org_of

router = APIRouter(prefix="/v1/rules", tags=["rules"], route_class=GuardedRoute)


@router.post("/dry-run", response_model=DryRunOut, responses=refusals(404, 409))
@allows(Role.OPERATOR, scoped=True)
async def try_rules(parts: The, caller: By, wanted: DryRunIn) -> Response:
    """Which rules would have fired on replies of the past, and why or why not. Nothing is changed."""
    documents, tried, past = await parts.dry_runs.load(org_of(caller), wanted)
    # Beside the event loop: hundreds of rules on hundreds of replies take a second of work.
    return answer(await asyncio.to_thread(dry_run, documents, tried, past, TOOL_NAMES))
