"""Jobs: find them, read their story, steer them."""

from typing import Annotated

from fastapi import APIRouter, Query
from fastapi.responses import Response

from schemas.access import Role
from schemas.answers import CancelOut, CandidateStateOut, Page
from schemas.claims import JobState
from schemas.errors import Code
from schemas.http import InstructionIn, JobOut
from schemas.ids import JobId, cursor_pattern, reference
from schemas.spec import Name
from workers.adapters.postgres.views.jobs import JobFilter
from workers.gateway.auth import allows
from workers.gateway.refusals import refusals
from workers.gateway.routing import By, GuardedRoute, The, Truth, answer, as_made, known_number

router = APIRouter(prefix="/v1/jobs", tags=["jobs"], route_class=GuardedRoute)

Cursor = Annotated[str | None, Query(pattern=cursor_pattern("job"))]


@router.get("", response_model=Page[JobOut], responses=refusals(404))
@allows(Role.APP, Role.OPERATOR, Role.OPS)
async def list_jobs(
    parts: The,
    caller: By,
    state: Annotated[list[JobState], Query(description="Any of these.")] = [],  # noqa: B006
    code: Code | None = None,
    attention: Truth | None = None,
    conversation: Name | None = None,
    cursor: Cursor = None,
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
) -> Response:
    """Newest first, without trace and events."""
    wanted = JobFilter(states=state, code=code, attention=attention, conversation=conversation)
    return answer(await parts.jobs.page(caller.org, wanted, cursor, limit))


@router.get("/{id}", response_model=JobOut, responses=refusals(404))
@allows(Role.APP, Role.OPERATOR, Role.OPS)
async def read_job(parts: The, caller: By, id: str) -> Response:
    """One job with what its runs did and who moved it."""
    return answer(await parts.jobs.one(caller.org, _job(id)))


@router.post("/{id}/approve", response_model=JobOut, responses=refusals(404, 409))
@allows(Role.OPERATOR)
async def approve(parts: The, caller: By, id: str) -> Response:
    """Send the held reply now."""
    await parts.transitions.approve(caller.org, _job(id), caller.who)
    return answer(await as_made(parts.jobs.one(caller.org, _job(id))))


@router.post("/{id}/cancel", response_model=CancelOut, responses=refusals(404, 409))
@allows(Role.OPERATOR, Role.OPS)
async def cancel(parts: The, caller: By, id: str) -> Response:
    """Drop the reply: no bubble that has not left will leave. 409 when none could be stopped."""
    states = await parts.transitions.cancel(caller.org, _job(id), caller.who)
    bubbles = [CandidateStateOut(id=reference("bub", bubble), state=state) for bubble, state in states.items()]
    return answer(CancelOut(job=id, candidates=bubbles))


@router.post("/{id}/hold", response_model=JobOut, responses=refusals(404, 409))
@allows(Role.OPERATOR)
async def hold(parts: The, caller: By, id: str) -> Response:
    """Stop the countdown, or what is left of a reply that is being sent. 409 when nothing is left to hold."""
    await parts.transitions.hold(caller.org, _job(id), caller.who)
    return answer(await as_made(parts.jobs.one(caller.org, _job(id))))


@router.post("/{id}/release", response_model=JobOut, responses=refusals(404, 409))
@allows(Role.OPERATOR)
async def release(parts: The, caller: By, id: str) -> Response:
    """Let it run again: the countdown from where it stopped, a reply that is being sent at once."""
    await parts.transitions.release_hold(caller.org, _job(id), caller.who)
    return answer(await as_made(parts.jobs.one(caller.org, _job(id))))


@router.post("/{id}/retry", response_model=JobOut, responses=refusals(404, 409))
@allows(Role.OPERATOR, Role.OPS)
async def retry(parts: The, caller: By, id: str) -> Response:
    """Run an ended job again; one whose delivery was given up (AR-560) is delivered again. 409 when it is not the
    newest of its conversation (`newer_job`), or the conversation went on."""
    await parts.transitions.retry(caller.org, _job(id), caller.who)
    return answer(await as_made(parts.jobs.one(caller.org, _job(id))))


@router.post("/{id}/regenerate", response_model=JobOut, responses=refusals(404, 409))
@allows(Role.OPERATOR)
async def regenerate(parts: The, caller: By, id: str, wanted: InstructionIn) -> Response:
    """Draft the reply again, minding the instruction. 409 once a bubble has left."""
    await parts.transitions.regenerate(caller.org, _job(id), caller.who, wanted.instruction)
    return answer(await as_made(parts.jobs.one(caller.org, _job(id))))


def _job(reference: str) -> JobId:
    return JobId(known_number("job", reference))
