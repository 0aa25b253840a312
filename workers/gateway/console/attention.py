"""What a person must look at: what happened, and what can be done about it."""

from starlette.responses import Response
from starlette.routing import Route

from schemas.access import Role
from workers.adapters.postgres.views.desk import MOST
from workers.gateway.console.visits import Visit, open_to


@open_to(Role.OPERATOR)
async def attention(visit: Visit) -> Response:
    items = await visit.parts.console.desk.attention(visit.org)
    return await visit.long_page("attention.html", page="attention", items=items, most=MOST)


@open_to(Role.OPERATOR)
async def attention_list(visit: Visit) -> Response:
    items = await visit.parts.console.desk.attention(visit.org)
    return await visit.long_page("attention_list.html", items=items, most=MOST)


ROUTES = [
    Route("/attention", attention, methods=["GET"]),
    Route("/attention/list", attention_list, methods=["GET"]),
]
