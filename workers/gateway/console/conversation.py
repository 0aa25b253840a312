"""A conversation: what was said, who handles it, and why there is no answer."""

from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from schemas.access import Role
from schemas.answers import ConversationOut
from schemas.errors import AppError, Invalid, NotFound
from workers.adapters.postgres.views.jobs import JobFilter
from workers.adapters.postgres.views.withdrawn import JOBS
from workers.gateway.console.refusals import told_in_place
from workers.gateway.console.render import respond
from workers.gateway.console.visits import HOME, READS, Visit, open_to
from workers.gateway.explaining import explained

_MESSAGES = 100
_JOBS = 15


@open_to(*READS)
async def conversation(visit: Visit) -> Response:
    return await _shown(visit, visit.name("name"), None, 200)


@open_to(*READS)
async def conversation_part(visit: Visit) -> Response:
    facts = await _facts(visit, visit.name("name"))
    return respond(visit.render("conversation_part.html", told=None, **facts))


@open_to(*READS)
async def find(visit: Visit) -> Response:
    """From the search field: a conversation, a job or a message by its name."""
    wanted = visit.request.query_params.get("q", "").strip()
    try:
        found = await explained(visit.parts, visit.org, wanted)
    except NotFound:
        return visit.page("not_found.html", 404, page="error", wanted=wanted)
    path = f"jobs/{found.job}" if wanted == found.job else f"conversations/{found.conversation}"
    return RedirectResponse(f"{HOME}/{path}", 303)


@open_to(Role.OPERATOR)
async def steer(visit: Visit) -> Response:
    """Take over, give back, record a consent, open a safety lock."""
    name, verb = visit.name("name"), visit.request.path_params["verb"]
    try:
        await _do(visit, name, verb)
    except AppError as error:
        return await _shown(visit, name, told_in_place(visit, error), error.http_status)
    return visit.back(f"{HOME}/conversations/{name}")


async def _do(visit: Visit, name: str, verb: str) -> None:
    transitions, org, who = visit.parts.transitions, visit.org, visit.who
    why = visit.form.get("reason", "").strip()[:2000] or None
    if verb == "takeover":
        await transitions.takeover(org, name, who)
    elif verb == "resume":
        await transitions.resume(org, name, who)
    elif verb == "reopen":
        await transitions.reopen(org, name, who, why)
    elif verb == "consent":
        if why is None:
            raise Invalid("", [{"field": visit.words("field.how"), "message": visit.words("error.how")}])
        await transitions.consent(org, name, who, why[:200], None)
    else:
        raise NotFound("no such action")


async def _shown(visit: Visit, name: str, told: str | None, status: int) -> Response:
    facts = await _facts(visit, name)
    if visit.by_htmx:
        return respond(visit.render("conversation_part.html", told=told, **facts), status)
    return visit.page("conversation.html", status, page="conversation", told=told, **facts)


async def _facts(visit: Visit, name: str) -> dict[str, object]:
    parts, org = visit.parts, visit.org
    cursor = visit.request.query_params.get("before")
    shown: ConversationOut = await parts.conversations.one(org, name, cursor, _MESSAGES)
    jobs = await parts.jobs.page(org, JobFilter(conversation=name), None, _JOBS)
    closed = shown.contact.locked_at is not None or shown.contact.opted_out_at is not None
    records = (await parts.conversations.consents(org, name)).items if closed else []
    return {
        "shown": shown,
        "jobs": jobs.items,
        "records": records,
        "drafts": await parts.conversations.withdrawn(org, name),
        "newest": JOBS,
        "why": await explained(parts, org, name),
    }


ROUTES = [
    Route("/find", find, methods=["GET"]),
    Route("/conversations/{name}", conversation, methods=["GET"]),
    Route("/conversations/{name}/part", conversation_part, methods=["GET"]),
    Route("/conversations/{name}/{verb}", steer, methods=["POST"]),
]
