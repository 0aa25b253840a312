"""Dead letters: what was given up, and giving it a second chance or none."""

from typing import Annotated, Literal

from fastapi import APIRouter, Depends, Query
from fastapi.responses import Response

from schemas.access import Role
from schemas.answers import DeadLetterOut, LettersPurged, LettersRetried, Page
from schemas.errors import Code, Invalid
from schemas.http import SentAt
from schemas.ids import DeadLetterId, JobId, cursor_pattern
from schemas.spec import Name
from workers.adapters.postgres.views.dead_letters import LetterFilter
from workers.gateway.auth import allows
from workers.gateway.refusals import refusals
from workers.gateway.routing import By, GuardedRoute, The, Truth, answer, as_made, known_number

router = APIRouter(prefix="/v1/dead-letters", tags=["dead letters"], route_class=GuardedRoute)

Cursor = Annotated[str | None, Query(pattern=cursor_pattern("dead"))]
Limit = Annotated[int, Query(ge=1, le=200)]
Everything = Annotated[Truth | None, Query(alias="all", description="Needed where no filter is given.")]


async def _filter(
    source: Literal["job", "delivery", "queue"] | None = None,
    code: Code | None = None,
    job: Annotated[str | None, Query(pattern=cursor_pattern("job"))] = None,
    conversation: Name | None = None,
    since: Annotated[SentAt | None, Query(description="Last seen then or later.")] = None,
    until: Annotated[SentAt | None, Query(description="Last seen before.")] = None,
) -> LetterFilter:
    number = None if job is None else JobId(known_number("job", job))
    return LetterFilter("open", source, code, number, conversation, since, until)


Filter = Annotated[LetterFilter, Depends(_filter)]


async def _bulk(wanted: Filter, everything: Everything = None) -> LetterFilter:
    if not wanted.asked() and not everything:
        errors = [{"field": "all", "message": "give a filter, or all=true for every open one"}]
        raise Invalid("which dead letters?", errors)
    return wanted


Bulk = Annotated[LetterFilter, Depends(_bulk)]


@router.get("", response_model=Page[DeadLetterOut], responses=refusals(404))
@allows(Role.OPS)
async def list_dead_letters(
    parts: The,
    caller: By,
    wanted: Filter,
    state: Literal["open", "retried", "purged"] = "open",
    cursor: Cursor = None,
    limit: Limit = 50,
) -> Response:
    """Newest first, those that wait for a decision unless another state is asked for."""
    return answer(await parts.dead_letters.page(caller.org, wanted.in_state(state), cursor, limit))


@router.post("/retry", response_model=LettersRetried, responses=refusals(404))
@allows(Role.OPS)
async def retry_dead_letters(
    parts: The, caller: By, wanted: Bulk, cursor: Cursor = None, limit: Limit = 100
) -> Response:
    """Try all again that the filter finds, `limit` of them, newest first; what comes too late is told and stays. Call
    again with `next` as the cursor until it is null."""
    return answer(await parts.second_chance.retry_all(caller.org, wanted, cursor, limit, caller.who))


@router.delete("", response_model=LettersPurged, responses=refusals(404))
@allows(Role.OPS)
async def purge_dead_letters(
    parts: The, caller: By, wanted: Bulk, cursor: Cursor = None, limit: Limit = 100
) -> Response:
    """Throw away all that the filter finds, `limit` of them, newest first. Their jobs stay as they are."""
    return answer(await parts.second_chance.purge_all(caller.org, wanted, cursor, limit, caller.who))


@router.get("/{id}", response_model=DeadLetterOut, responses=refusals(404))
@allows(Role.OPS)
async def read_dead_letter(parts: The, caller: By, id: str) -> Response:
    """One dead letter with the story of its job: what was called and how it ended, without what was said."""
    return answer(await parts.dead_letters.one(caller.org, _letter(id)))


@router.post("/{id}/retry", response_model=DeadLetterOut, responses=refusals(404, 409))
@allows(Role.OPS)
async def retry_dead_letter(parts: The, caller: By, id: str) -> Response:
    """Run its job again, deliver its reply again, send its webhook again under the same id, or put its message back on
    its queue. 409 when that is old news by now (`newer_job`), or somebody was faster."""
    await parts.second_chance.retry(caller.org, _letter(id), caller.who)
    return answer(await as_made(parts.dead_letters.one(caller.org, _letter(id))))


@router.delete("/{id}", response_model=DeadLetterOut, responses=refusals(404, 409))
@allows(Role.OPS)
async def purge_dead_letter(parts: The, caller: By, id: str) -> Response:
    """Throw it away: what it held is gone, that it was stays (`?state=purged`). Its job stays as it is."""
    await parts.transitions.purge_letter(caller.org, _letter(id), caller.who)
    return answer(await as_made(parts.dead_letters.one(caller.org, _letter(id))))


def _letter(reference: str) -> DeadLetterId:
    return DeadLetterId(known_number("dead", reference))
