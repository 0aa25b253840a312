"""The server's routes: one module per dialect, and the control API under `/_sim`."""

from collections.abc import Iterable

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response

from workers.simulator.answers import new_id
from workers.simulator.control_api import control_routes
from workers.simulator.headers import common_headers
from workers.simulator.messages_api import messages_routes
from workers.simulator.openai import openai_routes
from workers.simulator.refusals import ErrorType, error_body
from workers.simulator.state import Options, Simulator


def create_app(*, api_keys: Iterable[str] = (), latency: float = 0.0) -> Starlette:
    """The application; `app.state.simulator` is its state. Without `api_keys` any key is accepted."""
    simulator = Simulator(Options(frozenset(api_keys), latency))
    app = Starlette(
        routes=[*messages_routes(simulator), *openai_routes(simulator), *control_routes(simulator)],
        exception_handlers={HTTPException: _not_found, ClientDisconnect: _gone},
    )
    app.state.simulator = simulator
    return app


async def _gone(request: Request, error: Exception) -> Response:
    """Whoever asked has died meanwhile: nobody reads this, and it is nothing to log."""
    return Response(status_code=400)


async def _not_found(request: Request, error: Exception) -> Response:
    status = error.status_code if isinstance(error, HTTPException) else 404
    kind = ErrorType.NOT_FOUND if status == 404 else ErrorType.INVALID_REQUEST
    request_id = new_id("req")
    sentence = "Not found" if status == 404 else "Method Not Allowed"
    return JSONResponse(error_body(kind, sentence, request_id), status, common_headers(request_id))
