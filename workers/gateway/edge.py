"""The outermost layer: a request id, bounds on the body and on how long it takes, and no exception that gets past.

A client that still sends when it is refused would find its connection reset, and the answer gone with it. So what is
left of a body is read and thrown away before any answer, within bounds; beyond them the connection is closed.
"""

import asyncio
import re
import secrets
from collections.abc import Mapping
from typing import Any

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from schemas.errors import AppError, TooLarge, TooSlow
from workers.gateway.errors import of_app_error, of_fault
from workers.runtime.logging import logger

REQUEST_ID = "X-Request-Id"
_USABLE = re.compile(r"[A-Za-z0-9._:-]{1,64}")
SLOWEST_BYTES = 50_000
"""A body may take `body_seconds`, and a second more for each of these that it may hold."""
UNREAD_BYTES = 64 * 1024 * 1024
UNREAD_SECONDS = 10.0
log = logger(__name__)


class Edge:
    def __init__(self, app: ASGIApp, body_bytes: int, longer: Mapping[str, int], body_seconds: float) -> None:
        """`longer`: the paths whose bodies may have more bytes than the others'."""
        self._app = app
        self._body_bytes = body_bytes
        self._longer = longer
        self._body_seconds = body_seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        limit = self._longer.get(scope["path"], self._body_bytes)
        exchange = _Exchange(scope, receive, send, limit, self._body_seconds + limit / SLOWEST_BYTES)
        try:
            exchange.refuse_declared_length()
            await self._app(scope, exchange.receive, exchange.send)
        except ClientDisconnect:
            return
        except AppError as error:
            await exchange.answer(of_app_error(error, exchange.id))
        except Exception as error:
            log.error("request_failed", request=exchange.id, exc_info=error)
            await exchange.answer(of_fault(exchange.id))


class _Exchange:
    """One request and its answer, watched."""

    def __init__(self, scope: Scope, receive: Receive, send: Send, limit: int, seconds: float) -> None:
        self._scope, self._receive, self._send, self._limit = scope, receive, send, limit
        self._seconds = seconds
        self._headers = Headers(scope=scope)
        self._read = 0
        self._deadline: float | None = None
        self._whole = "transfer-encoding" not in self._headers and self._declared() == 0
        self._begun = False
        self._late = False
        given = self._headers.get(REQUEST_ID, "")
        self.id = given if _USABLE.fullmatch(given) else secrets.token_hex(8)
        scope.setdefault("state", {})["request_id"] = self.id

    def refuse_declared_length(self) -> None:
        if self._declared() > self._limit:
            raise self._too_large()

    def _declared(self) -> int:
        length = self._headers.get("content-length", "0")
        return int(length) if length.isascii() and length.isdigit() else 0

    async def receive(self) -> Message:
        if self._whole:
            return await self._receive()
        message = await self._part()
        if self._read > self._limit:
            raise self._too_large()
        return message

    async def _part(self) -> Message:
        now = asyncio.get_running_loop().time()
        if self._deadline is None:
            self._deadline = now + self._seconds
        try:
            async with asyncio.timeout_at(self._deadline):
                message = await self._receive()
        except TimeoutError:
            self._late = True
            raise TooSlow("the body did not arrive in time") from None
        self._read += len(message.get("body", b""))
        self._whole = not message.get("more_body", False)
        return message

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self._begun = True
            headers = MutableHeaders(scope=message)
            headers[REQUEST_ID] = self.id
            if not self._whole and not await self._let_run_out():
                headers["Connection"] = "close"
        await self._send(message)

    async def _let_run_out(self) -> bool:
        """Read the rest of the body. False: it is too much, too slow, or waits for us to ask for it."""
        asks_first = self._headers.get("expect", "").lower() == "100-continue" and self._read == 0
        if self._late or asks_first or self._declared() > UNREAD_BYTES:
            return False
        self._deadline = asyncio.get_running_loop().time() + UNREAD_SECONDS
        try:
            while not self._whole and self._read <= UNREAD_BYTES:
                await self._part()
        except TooSlow:
            return False
        return self._whole

    async def answer(self, response: Any) -> None:
        if not self._begun:
            await response(self._scope, self._receive, self.send)

    def _too_large(self) -> TooLarge:
        return TooLarge(f"a body holds at most {self._limit} bytes", limit_bytes=self._limit)
