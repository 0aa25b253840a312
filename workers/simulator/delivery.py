"""Handing bytes to the client: when the answer begins, and how a connection is cut."""

import asyncio
from collections.abc import Callable, Mapping, Sequence

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

CLOSE = "replique.close"  # an ASGI extension of our own server: closes the client's connection


class Delivery(Response):
    """Frames of one answer. `began` runs just before the first byte leaves.

    With `cut_after` only that many frames are sent, then the connection closes; 0 closes it before any byte.
    """

    def __init__(
        self,
        frames: Sequence[bytes],
        headers: Mapping[str, str],
        began: Callable[[], None],
        cut_after: int | None = None,
    ) -> None:
        super().__init__(status_code=200, headers=dict(headers))
        del self.headers["content-length"]
        if not headers["content-type"].startswith("text/event-stream"):
            self.headers["content-length"] = str(sum(map(len, frames)))
        self._frames = frames
        self._began = began
        self._cut_after = cut_after

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self._began()
        if self._cut_after == 0:
            await _close(scope)
            return
        await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
        for frame in self._frames[: self._cut_after]:
            await send({"type": "http.response.body", "body": frame, "more_body": True})
        if self._cut_after is not None:
            await _close(scope)
            return
        await send({"type": "http.response.body", "body": b"", "more_body": False})


async def _close(scope: Scope) -> None:
    close = scope.get("extensions", {}).get(CLOSE)
    if close is None:
        raise ConnectionAbortedError("this server cannot close a connection on demand")
    close()
    # The server learns of the closed connection one turn of the loop later.
    await asyncio.sleep(0.01)
