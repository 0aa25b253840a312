"""The gateway as an ASGI application, and the process that serves it."""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from importlib.metadata import version
from socket import socket
from typing import Any

import uvicorn
from fastapi import FastAPI
from starlette.routing import Route

from schemas.settings import Settings
from workers.gateway import errors
from workers.gateway.console.app import create_console, to_console
from workers.gateway.console.live import Hub
from workers.gateway.console.visits import HOME
from workers.gateway.edge import Edge
from workers.gateway.openapi import describe
from workers.gateway.parts import Parts
from workers.gateway.routes import ROUTERS
from workers.gateway.routes.documents import UPLOADS
from workers.gateway.wire import bounded
from workers.gateway.wiring import open_parts
from workers.runtime.addresses import database_address
from workers.runtime.logging import configure
from workers.runtime.stopping import Stop

Assemble = Callable[[Settings], AbstractAsyncContextManager[Parts]]


def create_app(settings: Settings, assemble: Assemble = open_parts) -> FastAPI:
    """The application. What it works with is opened when it starts, and closed when it stops."""

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        async with assemble(settings) as parts:
            hub = Hub(parts.console.changes, parts.console.desk, settings.console.look_seconds)
            app.state.parts = console.state.parts = parts
            app.state.hub = console.state.hub = hub
            yield
            hub.close()

    app = FastAPI(lifespan=lifespan, openapi_url="/openapi.json", docs_url=None, redoc_url=None, redirect_slashes=False)
    app.state.simulator = settings.simulator
    console = create_console(settings)
    longer = {UPLOADS: settings.gateway.document_bytes}
    app.add_middleware(
        Edge, body_bytes=settings.gateway.body_bytes, longer=longer, body_seconds=settings.gateway.body_seconds
    )
    errors.install(app)
    for router in ROUTERS:
        app.include_router(router)
    app.router.routes.append(Route(HOME, to_console))
    app.mount(HOME, console)
    app.openapi = lambda: _document(app)  # type: ignore[method-assign]
    return app


def _document(app: FastAPI) -> dict[str, Any]:
    if app.openapi_schema is None:
        app.openapi_schema = describe(app, ROUTERS, version("replique"))
    return app.openapi_schema


def end_streams(app: FastAPI) -> None:
    """Before the server waits for its last requests. Nothing, where it never got as far as opening its parts."""
    hub = getattr(app.state, "hub", None)
    if isinstance(hub, Hub):
        hub.close()


class Server(uvicorn.Server):
    """uvicorn's, told also of a signal that came before it listened for signals itself."""

    def __init__(self, app: FastAPI, config: uvicorn.Config, stop: Stop) -> None:
        super().__init__(config)
        self._app = app
        self._stop = stop

    async def startup(self, sockets: list[socket] | None = None) -> None:
        await super().startup(sockets)
        self.should_exit = self.should_exit or self._stop.asked

    async def shutdown(self, sockets: list[socket] | None = None) -> None:
        """Streams of events would last for as long as somebody reads them."""
        end_streams(self._app)
        await super().shutdown(sockets)


def serve(settings: Settings, host: str, port: int) -> None:
    """Serve until SIGTERM or SIGINT; requests in hand are finished within `gateway.drain_seconds`.

    Call it from the main thread. Raises SettingsRefused when the database's address is missing.
    """
    configure(settings.log_level, settings.log_json)
    database_address(settings)
    app = create_app(settings)
    config = uvicorn.Config(
        app,
        host=host,
        port=port,
        loop="uvloop",
        http=bounded(settings.gateway.head_seconds),
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=bool(settings.gateway.trusted_proxies),
        forwarded_allow_ips=settings.gateway.trusted_proxies or None,
        timeout_graceful_shutdown=int(settings.gateway.drain_seconds),
    )
    # uvicorn raises the signals it served again when it is done; here they say no more than that a stop was asked for.
    Server(app, config, Stop().listen()).run()
