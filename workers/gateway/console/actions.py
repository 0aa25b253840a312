"""What an operator does to a reply, a bubble or a conversation: the transitions of the API, answered as HTML."""

from collections.abc import Awaitable, Callable

from pydantic import ValidationError
from starlette.responses import Response
from starlette.routing import Route

from schemas.access import Role
from schemas.errors import AppError, Forbidden, Invalid, NotFound
from schemas.http import CandidatePatch, PriceIn
from schemas.ids import CandidateId, JobId, number_of, reference
from workers.gateway.console.refusals import told_in_place
from workers.gateway.console.render import respond
from workers.gateway.console.visits import HOME, Visit, open_to

Act = Callable[[Visit, JobId], Awaitable[object]]


async def _approve(visit: Visit, job: JobId) -> None:
    await visit.parts.transitions.approve(visit.org, job, visit.who)


async def _hold(visit: Visit, job: JobId) -> None:
    await visit.parts.transitions.hold(visit.org, job, visit.who)


async def _release(visit: Visit, job: JobId) -> None:
    await visit.parts.transitions.release_hold(visit.org, job, visit.who)


async def _cancel(visit: Visit, job: JobId) -> None:
    await visit.parts.transitions.cancel(visit.org, job, visit.who)


async def _retry(visit: Visit, job: JobId) -> None:
    await visit.parts.transitions.retry(visit.org, job, visit.who)


async def _regenerate(visit: Visit, job: JobId) -> None:
    instruction = visit.form.get("instruction", "").strip()[:2000] or None
    await visit.parts.transitions.regenerate(visit.org, job, visit.who, instruction)


async def _dismiss(visit: Visit, job: JobId) -> None:
    reason = visit.form.get("reason", "").strip()[:2000]
    if not reason:
        raise Invalid("", [{"field": visit.words("field.reason"), "message": visit.words("error.reason")}])
    await visit.parts.transitions.dismiss(visit.org, job, reason, visit.who)


async def _takeover(visit: Visit, job: JobId) -> None:
    shown = await visit.parts.jobs.one(visit.org, job)
    await visit.parts.transitions.takeover(visit.org, shown.conversation, visit.who)


ACTS: dict[str, Act] = {
    "approve": _approve,
    "hold": _hold,
    "release": _release,
    "cancel": _cancel,
    "retry": _retry,
    "regenerate": _regenerate,
    "dismiss": _dismiss,
    "takeover": _takeover,
}
ALSO_OPS = frozenset({"cancel", "retry"})


@open_to(Role.OPERATOR, Role.OPS)
async def act(visit: Visit) -> Response:
    """Does it, and answers the row as it is now; who is late is told who was faster, what they did, and when."""
    verb, job = visit.request.path_params["verb"], JobId(visit.number("job"))
    if verb not in ACTS:
        raise NotFound("no such action")
    if visit.role is Role.OPS and verb not in ALSO_OPS:
        raise Forbidden("not for your role")
    status, told = 200, None
    try:
        await ACTS[verb](visit, job)
    except AppError as error:
        status, told = error.http_status, told_in_place(visit, error)
    return await _row(visit, job, status, told, visit.words(f"done.{verb}"))


@open_to(Role.OPERATOR)
async def change(visit: Visit) -> Response:
    """Edits, moves or drops one bubble; answers the row of its reply."""
    bubble = CandidateId(visit.number("bub"))
    shown = await visit.parts.jobs.bubble(visit.org, bubble)
    job = JobId(number_of("job", visit.form.get("job", "")) or 0)
    status, told = 200, None
    try:
        if "drop" in visit.form:
            await visit.parts.transitions.drop_candidate(visit.org, bubble, visit.who)
        else:
            await visit.parts.transitions.edit_candidate(visit.org, bubble, _patch(visit), visit.who)
    except AppError as error:
        status, told = error.http_status, told_in_place(visit, error)
    done = visit.words("done.dropped" if "drop" in visit.form else "done.edited", kind=shown.kind)
    return await _row(visit, job, status, told, done)


def _patch(visit: Visit) -> CandidatePatch:
    form = visit.form
    try:
        currency = form.get("currency", "")
        price = PriceIn(amount=form["amount"].strip(), currency=currency) if "amount" in form else None
    except ValidationError:
        raise _not_accepted(visit, "price") from None
    ordinal, version = _number(visit, "ordinal"), _number(visit, "version")
    try:
        return CandidatePatch(text=form.get("text"), price=price, ordinal=ordinal, version=version)
    except ValidationError as error:
        raise _not_accepted(visit, str(error.errors()[0]["loc"][0])) from None


def _number(visit: Visit, field: str) -> int | None:
    try:
        return int(visit.form[field]) if field in visit.form else None
    except ValueError:
        raise _not_accepted(visit, field) from None


def _not_accepted(visit: Visit, field: str) -> Invalid:
    return Invalid("", [{"field": visit.words(f"field.{field}"), "message": visit.words(f"error.{field}")}])


async def _row(visit: Visit, job: JobId, status: int, told: str | None, done: str) -> Response:
    """By htmx the reply as it is now, where it stands; by a plain form the page it came from."""
    if not visit.by_htmx:
        return visit.page("refused.html", status, page="error", told=told) if told else visit.back(f"{HOME}/")
    item = await visit.parts.console.desk.one(visit.org, job)
    place = visit.request.headers.get("hx-current-url", "")
    if item is None:
        return respond(
            visit.render("gone.html", id=reference("job", job), told=told or done, late=told is not None), status
        )
    if item.job.state in ("held", "sending") and "/attention" not in place:
        return respond(visit.render("row.html", item=item, told=told), status)
    if item.job.attention and "/attention" in place:
        return respond(visit.render("attention_row.html", item=item, told=told), status)
    gone = visit.render("gone.html", id=item.job.id, told=told or done, late=told is not None)
    return respond(gone, status)


ROUTES = [
    Route("/jobs/{id}/{verb:str}", act, methods=["POST"]),
    Route("/candidates/{id}", change, methods=["POST"]),
]
