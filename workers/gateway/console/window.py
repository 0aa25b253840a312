"""The window: every reply that waits or leaves, with its countdown."""

from starlette.responses import Response
from starlette.routing import Route

from schemas.access import Role
from schemas.ids import CandidateId
from workers.adapters.postgres.views.desk import MOST
from workers.gateway.console.render import respond
from workers.gateway.console.visits import Visit, open_to

_MOST_AT_ONCE = 200


@open_to(Role.OPERATOR)
async def window(visit: Visit) -> Response:
    held = await visit.parts.console.desk.window(visit.org)
    return await visit.long_page("window.html", page="window", held=held, most=MOST)


@open_to(Role.OPERATOR)
async def rows(visit: Visit) -> Response:
    """Those of the jobs named in `ids` that are in the window now, as rows: what a page fetches when they changed."""
    wanted = visit.request.query_params.get("ids", "").split(",")[:_MOST_AT_ONCE]
    held = await visit.parts.console.desk.some(visit.org, wanted)
    return await visit.long_page("rows.html", held=held)


@open_to(Role.OPERATOR)
async def edit_form(visit: Visit) -> Response:
    """One bubble as a form."""
    bubble = await visit.parts.jobs.bubble(visit.org, CandidateId(visit.number("bub")))
    return respond(visit.render("bubble_form.html", bubble=bubble))


ROUTES = [
    Route("/", window, methods=["GET"]),
    Route("/window/rows", rows, methods=["GET"]),
    Route("/candidates/{id}/edit", edit_form, methods=["GET"]),
]
