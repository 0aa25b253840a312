"""In and out: by password, by key, by one-time link; and which organisation and language the pages show."""

import secrets

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from schemas.access import KnownKey, Role
from schemas.errors import NotFound, RateLimited
from schemas.ids import UserId
from schemas.users import PASSWORD_CHARACTERS
from workers.gateway.console.render import html, respond
from workers.gateway.console.visits import (
    HOME,
    READS,
    SIGN_IN,
    Visit,
    cookie_name,
    csrf_of,
    open_to,
    parts_of,
    posted,
    secure,
    words_of,
)
from workers.gateway.console.words import LANGUAGES

_DOOR = "replique-door"
"""The cookie that binds a sign-in form to the browser it was shown to."""


def _shown(request: Request, template: str, status: int = 200, **facts: object) -> Response:
    """A page for somebody who is not in yet. Its form holds a token that its cookie proves."""

    token = request.cookies.get(_DOOR) or secrets.token_urlsafe(24)
    content = html(template, words_of(request), "UTC", csrf=csrf_of(token), **facts)
    response = respond(content, status)
    response.set_cookie(_DOOR, token, 3600, path=HOME, httponly=True, samesite="lax", secure=secure(request))
    return response


async def _fields(request: Request) -> dict[str, str]:
    return await posted(request, csrf_of(request.cookies.get(_DOOR, "")))


def _address(request: Request) -> str:
    return request.client.host if request.client else "unknown"


async def sign_in_page(request: Request) -> Response:
    return _shown(request, "sign_in.html", error=None, email="")


async def sign_in(request: Request) -> Response:
    """With email and password, or with a key of a role that may: an app's key opens nothing here."""
    fields = await _fields(request)
    email = fields.get("email", "")[:300]
    try:
        holder, error = await _holder(request, email, fields)
    except RateLimited as refused:
        return _shown(request, "sign_in.html", 429, error=("door.too_many", refused.facts), email=email)
    if holder is None:
        return _shown(request, "sign_in.html", 401, error=(error, {}), email=email)
    return await _let_in(request, holder)


async def _holder(request: Request, email: str, fields: dict[str, str]) -> tuple[UserId | KnownKey | None, str]:
    """Who it is; or None and the key of the sentence that says why not."""
    parts, address = parts_of(request), _address(request)
    if presented := fields.get("key", "").strip():
        await parts.sessions.check(address)
        key = await parts.keys.find(await parts.keys.hash_of(presented))
        if key is None:
            await parts.sessions.note_failure(address)
            return None, "door.wrong_key"
        return (None, "door.app_key") if key.role is Role.APP else (key, "")
    user = await parts.sessions.by_password(email, fields.get("password", ""), address)
    return user, "door.wrong"


async def _let_in(request: Request, holder: UserId | KnownKey) -> Response:
    token = await parts_of(request).sessions.open_for(holder)
    response = RedirectResponse(f"{HOME}/", 303)
    response.set_cookie(cookie_name(request), token, path="/", httponly=True, samesite="lax", secure=secure(request))
    response.delete_cookie(_DOOR, path=HOME)
    return response


async def link_page(request: Request) -> Response:
    """Looking does not use the link up: mail programs look too."""
    try:
        person = await parts_of(request).users.behind(request.path_params["token"])
    except NotFound:
        return _shown(request, "link.html", 404, person=None, error=None, fewest=PASSWORD_CHARACTERS[0])
    return _shown(request, "link.html", person=person, error=None, fewest=PASSWORD_CHARACTERS[0])


async def use_link(request: Request) -> Response:
    fields, parts, token = await _fields(request), parts_of(request), request.path_params["token"]
    password, (fewest, most) = fields.get("password", ""), PASSWORD_CHARACTERS
    try:
        person = await parts.users.behind(token)
        if not fewest <= len(password) <= most:
            return _shown(request, "link.html", 422, person=person, error="link.length", fewest=fewest)
        if password != fields.get("again"):
            return _shown(request, "link.html", 422, person=person, error="link.differ", fewest=fewest)
        user = await parts.users.set_password(token, password)
    except NotFound:
        return _shown(request, "link.html", 404, person=None, error=None, fewest=fewest)
    return await _let_in(request, user)


@open_to(*READS, scoped=False)
async def sign_out(visit: Visit) -> Response:
    name = cookie_name(visit.request)
    await visit.parts.sessions.close(visit.request.cookies.get(name, ""))
    response = RedirectResponse(SIGN_IN, 303)
    response.delete_cookie(name, path="/", secure=secure(visit.request), httponly=True, samesite="lax")
    return response


@open_to(*READS, scoped=False)
async def choose(visit: Visit) -> Response:
    """The organisation that the pages show from now on, or the language they speak."""
    if organization := visit.form.get("organization"):
        await visit.parts.sessions.choose(visit.session, organization)
    if (language := visit.form.get("language")) in LANGUAGES and language is not None:
        await visit.parts.sessions.speak(visit.session, language)
    path = visit.form.get("to", "")
    return RedirectResponse(path if path.startswith(f"{HOME}/") and "\\" not in path else f"{HOME}/", 303)


@open_to(*READS, scoped=False)
async def organizations(visit: Visit) -> Response:
    """Which to look at, for who sees several."""
    return visit.page("choose.html", page="choose", organizations=await visit.parts.keys.organizations(200))


ROUTES = [
    Route("/sign-in", sign_in_page, methods=["GET"]),
    Route("/sign-in", sign_in, methods=["POST"]),
    Route("/link/{token}", link_page, methods=["GET"]),
    Route("/link/{token}", use_link, methods=["POST"]),
    Route("/sign-out", sign_out, methods=["POST"]),
    Route("/organizations", organizations, methods=["GET"]),
    Route("/choose", choose, methods=["POST"]),
]
