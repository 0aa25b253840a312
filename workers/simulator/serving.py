"""Runs the simulator as a local server."""

from typing import Any

import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from workers.simulator.app import create_app
from workers.simulator.delivery import CLOSE

KEEP_ALIVE_SECONDS = 120  # longer than a client's pool keeps idle connections: no race at the edge


class ClosableProtocol(HttpToolsProtocol):
    """Lets the application close the connection under a response, which a client sees as a broken network."""

    def on_message_begin(self) -> None:
        super().on_message_begin()
        extensions: dict[str, Any] = {CLOSE: self.transport.close}
        self.scope["extensions"] = extensions


def make_server(app: ASGIApp, host: str = "127.0.0.1", port: int = 0) -> uvicorn.Server:
    """A server that is not started; port 0 takes a free one."""
    return uvicorn.Server(
        uvicorn.Config(
            app,
            host=host,
            port=port,
            http=ClosableProtocol,
            ws="none",
            lifespan="off",
            access_log=False,
            log_config=None,
            log_level="warning",
            timeout_keep_alive=KEEP_ALIVE_SECONDS,
        )
    )


def serve(host: str = "127.0.0.1", port: int = 8090, latency: float = 0.35) -> None:
    """Serve until interrupted. `latency` in seconds per call, so that a person can follow."""
    make_server(create_app(latency=latency), host, port).run()
