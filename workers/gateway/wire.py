"""HTTP below the application: uvicorn's protocol, with bounds on the head of a request and on how long it may take.

The application sees a request when its head is whole; until then a client could send for ever, and hold a connection by
a byte now and then. What is refused here is answered as everywhere: a problem with a code.
"""

import secrets
from asyncio import TimerHandle, Transport
from typing import Any

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from schemas.errors import AppError, BadRequest, HeadTooLarge, TooSlow
from workers.gateway.errors import of_app_error

HEAD_BYTES = 32 * 1024
HEAD_FIELDS = 100


class Bounded(HttpToolsProtocol):
    """One connection. A head is being read from the first byte of a request to the empty line; one that never comes
    ends the connection as well."""

    head_seconds: float = 15.0
    _timer: TimerHandle | None = None
    _reading = False
    _got = 0
    _fault: AppError | None = None

    def connection_made(self, transport: Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self.transport.is_closing():
            return
        super().data_received(data)
        if self._reading and not self.transport.is_closing():
            self._got += len(data)
            if self._got > HEAD_BYTES:
                self._refuse(_too_large())

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._reading, self._got = True, 0
        self._wait()

    def on_headers_complete(self) -> None:
        self._reading = False
        self._stop_waiting()
        size = len(self.url) + sum(len(name) + len(value) for name, value in self.headers)
        if size > HEAD_BYTES or len(self.headers) > HEAD_FIELDS:
            self._fault = _too_large()
            raise self._fault  # the parser makes an error of its own of it, and then asks for `send_400_response`
        super().on_headers_complete()

    def send_400_response(self, msg: str) -> None:
        self._refuse(self._fault or BadRequest("this is not HTTP"))

    def _wait(self) -> None:
        self._stop_waiting()
        self._timer = self.loop.call_later(self.head_seconds, self._late)

    def _stop_waiting(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _late(self) -> None:
        self._timer = None
        if self.transport.is_closing():
            return
        if self._reading:
            self._refuse(TooSlow(f"the head of a request must be here within {self.head_seconds:g} s"))
        else:
            self.transport.close()

    def _refuse(self, error: AppError) -> None:
        """Behind an answer that is still being written nothing can be said: there the connection just ends."""
        self._stop_waiting()
        if self.cycle is None or self.cycle.response_complete:
            self.transport.write(_answer(error))
        self.transport.close()


def bounded(head_seconds: float) -> type[Bounded]:
    """uvicorn makes its protocols itself, from a class."""
    return type("Bounded", (Bounded,), {"head_seconds": head_seconds})


def _too_large() -> HeadTooLarge:
    return HeadTooLarge(
        f"address and headers hold at most {HEAD_BYTES} bytes and {HEAD_FIELDS} headers", limit_bytes=HEAD_BYTES
    )


def _answer(error: AppError) -> bytes:
    request_id = secrets.token_hex(8)
    response = of_app_error(error, request_id)
    headers: list[tuple[Any, Any]] = [
        *response.raw_headers,
        (b"x-request-id", request_id.encode()),
        (b"connection", b"close"),
    ]
    head = [STATUS_LINE[error.http_status], *(b"%s: %s\r\n" % field for field in headers), b"\r\n"]
    return b"".join(head) + bytes(response.body)
