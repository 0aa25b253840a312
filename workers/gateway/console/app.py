"""The console as an application of its own below /console: its routes, its files, and its answer to every refusal."""

from importlib.resources import files
from typing import cast

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles

from schemas.errors import AppError
from schemas.settings import Settings
from workers.gateway.console import (
    actions,
    agents,
    attention,
    conversation,
    costs,
    dead_letters,
    door,
    jobs,
    live,
    personas,
    playground,
    queues,
    rules,
    window,
)
from workers.gateway.console.refusals import refused
from workers.gateway.console.render import html, respond
from workers.gateway.console.visits import (
    HOME,
    SIGN_IN,
    ChooseOrganization,
    NotSignedIn,
    visit_of,
    words_of,
)

PAGES: list[BaseRoute] = [
    *door.ROUTES,
    *window.ROUTES,
    *actions.ROUTES,
    *attention.ROUTES,
    *conversation.ROUTES,
    *jobs.ROUTES,
    *dead_letters.ROUTES,
    *queues.ROUTES,
    *costs.ROUTES,
    *rules.ROUTES,
    *agents.ROUTES,
    *personas.ROUTES,
    *playground.ROUTES,
    *live.ROUTES,
]


class Kept(StaticFiles):
    """Files whose addresses change with what is in them: browsers need not ask again."""

    def file_response(self, *args: object, **options: object) -> Response:
        response = super().file_response(*args, **options)  # type: ignore[arg-type]
        response.headers["Cache-Control"] = "public, max-age=31536000, immutable"
        response.headers["X-Content-Type-Options"] = "nosniff"
        return response


def create_console(settings: Settings) -> Starlette:
    """`state.parts` and `state.hub` are set when the gateway has opened them."""
    static = Kept(directory=str(files("workers.gateway.console") / "static"))
    handlers = {
        AppError: _app_error,
        NotSignedIn: _not_signed_in,
        ChooseOrganization: _choose,
        HTTPException: _http,
    }
    made = Starlette(routes=[*PAGES, Mount("/static", static)], exception_handlers=handlers)
    made.router.redirect_slashes = False
    made.state.secure = settings.public_url.startswith("https:")
    made.state.settings = settings
    return made


async def to_console(_request: Request) -> Response:
    return RedirectResponse(f"{HOME}/", 307)


async def _app_error(request: Request, error: Exception) -> Response:
    return refused(request, cast(AppError, error))


async def _not_signed_in(request: Request, _error: Exception) -> Response:
    if "hx-request" in request.headers or "x-live" in request.headers:
        return respond("", 401, {"HX-Redirect": SIGN_IN})
    return RedirectResponse(SIGN_IN, 303)


async def _choose(request: Request, _error: Exception) -> Response:
    visit = visit_of(request)
    if visit is None:
        return RedirectResponse(SIGN_IN, 303)
    return visit.page("choose.html", page="choose", organizations=await visit.parts.keys.organizations(200))


async def _http(request: Request, error: Exception) -> Response:
    status = cast(HTTPException, error).status_code
    key = "error.not_found" if status == 404 else "error.method"
    return respond(html("plain_error.html", words_of(request), "UTC", key=key), status)


__all__ = ["PAGES", "Route", "create_console", "to_console"]
