"""Dead letters, for reading."""

from typing import Annotated, Literal

from fastapi import APIRouter, Query
from fastapi.responses import Response

from schemas.access import Role
from schemas.answers import DeadLetterOut, Page
from schemas.ids import DeadLetterId, cursor_pattern
from workers.gateway.auth import allows
from workers.gateway.refusals import refusals
from workers.gateway.routing import By, GuardedRoute, The, answer, known_number

router = APIRouter(prefix="/v1/dead-letters", tags=["dead letters"], route_class=GuardedRoute)

Cursor = Annotated[str | None, Query(pattern=cursor_pattern("dead"))]


@router.get("", response_model=Page[DeadLetterOut], responses=refusals(404))
@allows(Role.OPS)
async def list_dead_letters(
    parts: The,
    caller: By,
    state: Literal["open", "retried", "purged"] = "open",
    source: Literal["job", "delivery", "queue"] | None = None,
    cursor: Cursor = None,
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
) -> Response:
    """Newest first, those that wait for a decision unless another state is asked for."""
    return answer(await parts.dead_letters.page(caller.org, state, source, cursor, limit))


@router.get("/{id}", response_model=DeadLetterOut, responses=refusals(404))
@allows(Role.OPS)
async def read_dead_letter(parts: The, caller: By, id: str) -> Response:
    """One dead letter with the story of its job."""
    return answer(await parts.dead_letters.one(caller.org, DeadLetterId(known_number("dead", id))))
