"""Personas and their media: who answers, and what they can show."""

from starlette.responses import Response
from starlette.routing import Route

from schemas.access import Role
from schemas.errors import AppError
from workers.gateway.console.agents import keep, told
from workers.gateway.console.parameters import PERSONA, value_at
from workers.gateway.console.refusals import told_in_place
from workers.gateway.console.visits import HOME, READS, Visit, open_to

_MEDIA = 60


@open_to(*READS)
async def personas(visit: Visit) -> Response:
    found = await visit.parts.console.provisioned.personas(visit.org)
    return visit.page("personas.html", page="personas", personas=found)


@open_to(*READS)
async def persona(visit: Visit) -> Response:
    return await _shown(visit)


@open_to()
async def save(visit: Visit) -> Response:
    try:
        await keep(visit, PERSONA, visit.name("name"))
    except AppError as error:
        return await _shown(visit, told(visit, error), error.http_status)
    return await _shown(visit, saved=True)


@open_to(Role.OPERATOR)
async def switch(visit: Visit) -> Response:
    """A photo or video is withdrawn at once, or brought back."""
    on = visit.form.get("on") == "yes"
    try:
        await visit.parts.console.switches.media(visit.org, visit.form.get("media", "")[:128], on, visit.who)
    except AppError as error:
        return await _shown(visit, told_in_place(visit, error), error.http_status)
    return visit.back(f"{HOME}/personas/{visit.name('name')}")


async def _shown(visit: Visit, told: str | None = None, status: int = 200, saved: bool = False) -> Response:
    name, provisioned = visit.name("name"), visit.parts.console.provisioned
    kept = await provisioned.persona(visit.org, name)
    after = visit.request.query_params.get("after", "")[:128]
    media = await provisioned.media(visit.org, name, after, _MEDIA + 1)
    facts = {
        "kept": kept,
        "fields": [{"is": one, "value": visit.form.get(one.path, value_at(kept.spec, one.path))} for one in PERSONA],
        "media": media[:_MEDIA],
        "withdrawn": await provisioned.withdrawn(visit.org, name, _MEDIA),
        "next": media[_MEDIA - 1].name if len(media) > _MEDIA else None,
        "told": told,
        "saved": saved,
    }
    return visit.page("persona.html", status, page="personas", **facts)


ROUTES = [
    Route("/personas", personas, methods=["GET"]),
    Route("/personas/{name}", persona, methods=["GET"]),
    Route("/personas/{name}", save, methods=["POST"]),
    Route("/personas/{name}/media", switch, methods=["POST"]),
]
