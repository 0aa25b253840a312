"""One request of a browser: who is signed in, what they may do, and whether the form is ours."""

import asyncio
import hmac
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, cast
from urllib.parse import urlsplit

from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from pipelines.text import storable
from schemas.access import Role
from schemas.errors import BadRequest, Forbidden, NotFound
from schemas.ids import OrgId, is_name, number_of
from schemas.users import Session
from workers.gateway.console.render import html, respond
from workers.gateway.console.words import Words, preferred
from workers.gateway.parts import Parts

HOME = "/console"
SIGN_IN = f"{HOME}/sign-in"
READS = frozenset({Role.OPERATOR, Role.OPS, Role.ADMIN})
"""Everybody who can be signed in: the role `app` cannot."""


class NotSignedIn(Exception):
    """No session, or one that is over."""


class ChooseOrganization(Exception):
    """The page shows one organisation, and none was chosen."""


@dataclass(frozen=True, slots=True)
class Need:
    """What a page asks of its visitor. `scoped`: it shows one organisation."""

    roles: frozenset[Role]
    scoped: bool


@dataclass(frozen=True, slots=True)
class Visit:
    request: Request
    parts: Parts
    session: Session
    csrf: str
    words: Words
    form: Mapping[str, str] = field(default_factory=dict)

    @property
    def who(self) -> str:
        return self.session.who

    @property
    def role(self) -> Role:
        return self.session.role

    @property
    def org(self) -> OrgId:
        """The organisation of a scoped page."""
        if self.session.org is None:
            raise ChooseOrganization
        return self.session.org

    @property
    def organization(self) -> str:
        if self.session.organization is None:
            raise ChooseOrganization
        return self.session.organization

    @property
    def by_htmx(self) -> bool:
        return "hx-request" in self.request.headers

    def may(self, *roles: str) -> bool:
        return self.role is Role.ADMIN or self.role.value in roles

    def name(self, parameter: str) -> str:
        """An upstream name in the path. Raises NotFound for what cannot be one."""
        found = str(self.request.path_params[parameter])
        if not is_name(found):
            raise NotFound("nothing has that name")
        return found

    def number(self, kind: str, parameter: str = "id") -> int:
        found = number_of(kind, str(self.request.path_params[parameter]))
        if found is None:
            raise NotFound("nothing has that id")
        return found

    def render(self, template: str, **facts: Any) -> str:
        return html(template, self.words, self.session.timezone, visit=self, **facts)

    def page(self, template: str, status: int = 200, **facts: Any) -> HTMLResponse:
        return respond(self.render(template, **facts), status)

    async def long_page(self, template: str, **facts: Any) -> HTMLResponse:
        """A page of hundreds of rows, made beside the event loop: messages are taken meanwhile."""
        return respond(await asyncio.to_thread(self.render, template, **facts))

    def back(self, path: str) -> Response:
        """To where the browser goes after a form: by htmx when it posted it, else by a redirect."""
        if self.by_htmx:
            return respond("", 200, {"HX-Redirect": path})
        return RedirectResponse(path, 303)


Endpoint = Callable[[Visit], Awaitable[Response]]
Handler = Callable[[Request], Awaitable[Response]]


def open_to(*roles: Role, scoped: bool = True) -> Callable[[Endpoint], Handler]:
    """A page for these roles and for admins. What a form posts is read only when its token is ours."""
    need = Need(frozenset({*roles, Role.ADMIN}), scoped)

    def mark(endpoint: Endpoint) -> Handler:
        async def handle(request: Request) -> Response:
            visit = await enter(request, need)
            return await endpoint(visit)

        handle.need = need  # type: ignore[attr-defined]
        handle.__name__ = endpoint.__name__
        return handle

    return mark


async def enter(request: Request, need: Need) -> Visit:
    """Raises NotSignedIn, Forbidden, ChooseOrganization, BadRequest."""
    parts = parts_of(request)
    if any("\0" in part for part in (request.scope["path"], *request.query_params.values())):
        raise BadRequest("the address holds a NUL character, which no name has")
    token = request.cookies.get(cookie_name(request))
    # What a page fetches by itself is no sign of life of its person.
    active = "x-live" not in request.headers
    session = None if token is None else await parts.sessions.find(token, active=active)
    if token is None or session is None:
        raise NotSignedIn
    words = Words(session.locale or preferred(request.headers.get("accept-language", "")))
    csrf = csrf_of(token)
    request.state.visit = Visit(request, parts, session, csrf, words)
    form = await posted(request, csrf) if request.method == "POST" else {}
    visit = Visit(request, parts, session, csrf, words, form)
    request.state.visit = visit
    if session.role not in need.roles:
        raise Forbidden("this page is not for your role")
    if need.scoped and session.org is None:
        raise ChooseOrganization
    return visit


async def posted(request: Request, csrf: str) -> dict[str, str]:
    """The fields of a form of ours. Raises Forbidden for a form of another site, or with another session's token."""
    origin = request.headers.get("origin")
    if origin is not None and urlsplit(origin).netloc != request.headers.get("host", ""):
        raise Forbidden("this form was posted by another site")
    async with request.form() as form:
        fields = {name: storable(value) for name, value in form.multi_items() if isinstance(value, str)}
    if not hmac.compare_digest(fields.pop("csrf", "").encode(), csrf.encode()):
        raise Forbidden("this form is not of this session")
    return fields


def csrf_of(token: str) -> str:
    """Bound to the session, and no way back to its cookie."""
    return sha256(f"form {token}".encode()).hexdigest()


def parts_of(request: Request) -> Parts:
    return cast(Parts, request.app.state.parts)


def secure(request: Request) -> bool:
    return request.url.scheme == "https" or bool(request.app.state.secure)


def cookie_name(request: Request) -> str:
    """Under https a name that no other host and no plain connection can set."""
    return "__Host-replique" if secure(request) else "replique"


def visit_of(request: Request) -> Visit | None:
    found = getattr(request.state, "visit", None)
    return found if isinstance(found, Visit) else None


def words_of(request: Request) -> Words:
    visit = visit_of(request)
    return visit.words if visit else Words(preferred(request.headers.get("accept-language", "")))
