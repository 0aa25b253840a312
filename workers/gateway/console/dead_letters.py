"""Work that was given up: why, and again."""

from starlette.responses import Response
from starlette.routing import Route

from schemas.access import Role
from schemas.errors import AppError, Conflict, TooLate
from schemas.ids import DeadLetterId, JobId, number_of
from workers.gateway.console.refusals import told_in_place
from workers.gateway.console.visits import HOME, Visit, open_to

_STATES = ("open", "retried", "purged")
_LIMIT = 50


@open_to(Role.OPS, scoped=False)
async def dead_letters(visit: Visit) -> Response:
    return await _list(visit, None, 200)


@open_to(Role.OPS, scoped=False)
async def dead_letter(visit: Visit) -> Response:
    letter = await visit.parts.dead_letters.one(visit.session.org, DeadLetterId(visit.number("dead")))
    return visit.page("dead_letter.html", page="letters", letter=letter)


@open_to(Role.OPS, scoped=False)
async def retry(visit: Visit) -> Response:
    """Runs its job again; the letter leaves the list with it."""
    letter = await visit.parts.dead_letters.one(visit.session.org, DeadLetterId(visit.number("dead")))
    try:
        if letter.state != "open":
            raise TooLate(letter.state)
        number = number_of("job", letter.job or "")
        if number is None:
            raise Conflict("there is no job to run again")
        await visit.parts.transitions.retry(visit.session.org, JobId(number), visit.who)
    except AppError as error:
        return await _list(visit, told_in_place(visit, error), error.http_status)
    return visit.back(f"{HOME}/dead-letters")


async def _list(visit: Visit, told: str | None, status: int) -> Response:
    query = visit.request.query_params
    state = query.get("state", "open")
    state = state if state in _STATES else "open"
    found = await visit.parts.dead_letters.page(visit.session.org, state, None, query.get("cursor"), _LIMIT)
    facts = {"letters": found.items, "next": found.next, "state": state, "states": _STATES, "told": told}
    return visit.page("dead_letters.html", status, page="letters", **facts)


ROUTES = [
    Route("/dead-letters", dead_letters, methods=["GET"]),
    Route("/dead-letters/{id}", dead_letter, methods=["GET"]),
    Route("/dead-letters/{id}/retry", retry, methods=["POST"]),
]
