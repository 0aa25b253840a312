"""For load balancers and dashboards: alive, ready, metrics. Open; they name no organisation."""

from fastapi import APIRouter, Request
from fastapi.responses import Response

from schemas.answers import Alive, Readiness
from schemas.errors import Code, Unavailable
from workers.gateway.errors import problem
from workers.gateway.metrics import CONTENT_TYPE, render
from workers.gateway.refusals import only
from workers.gateway.routing import GuardedRoute, The, answer

LATE_SECONDS = 5.0

router = APIRouter(tags=["health"], route_class=GuardedRoute)


@router.get("/healthz", response_model=Alive, responses=only(400, 415, 422, 500))
async def healthz() -> Response:
    """The process runs."""
    return answer(Alive())


@router.get("/readyz", response_model=Readiness, responses=only(400, 415, 422, 500, 503))
async def readyz(request: Request, parts: The) -> Response:
    """Messages can be taken: PostgreSQL answers and has a schema that this version runs on. Redis and the clock are
    reported."""
    try:
        standing = await parts.counter.standing()
        postgres: dict[str, object] = {"reachable": True, "migration": standing.migration, "newest": standing.newest}
        if not standing.writable:
            postgres["read_only"] = True
        ready, late = standing.fits and standing.writable, standing.unseen_seconds
    except Unavailable:
        postgres, ready, late = {"reachable": False}, False, 0.0
    redis = dict(await parts.redis())
    clock = {"seen": redis.pop("clock_seen", None), "late": late > LATE_SECONDS, "oldest_unseen_seconds": late}
    models = {"simulator": request.app.state.simulator}
    found = Readiness(ready=ready, postgres=postgres, redis=redis, clock=clock, models=models)
    if ready:
        return answer(found)
    facts = {**found.model_dump(), "retry_after": 2}
    return problem(Code.UNAVAILABLE, 503, "not ready", request.state.request_id, facts)


@router.get(
    "/metrics",
    response_class=Response,
    responses={200: {"content": {"text/plain": {"schema": {"type": "string"}}}}, **only(400, 415, 422, 500, 503)},
)
async def metrics(parts: The) -> Response:
    """Prometheus text: what was counted in the database, and which models are left alone."""
    return Response(render(await parts.counter.counts(), await parts.breakers()), media_type=CONTENT_TYPE)
