"""The outermost layer: a request id, a bound on the body, and no exception that gets past."""

import re
import secrets
from collections.abc import Mapping
from typing import Any

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from schemas.errors import AppError, TooLarge
from workers.gateway.errors import of_app_error, of_fault
from workers.runtime.logging import logger

REQUEST_ID = "X-Request-Id"
_USABLE = re.compile(r"[A-Za-z0-9._:-]{1,64}")
log = logger(__name__)


class Edge:
    def __init__(self, app: ASGIApp, body_bytes: int, longer: Mapping[str, int]) -> None:
        """`longer`: the paths whose bodies may have more bytes than the others'."""
        self._app = app
        self._body_bytes = body_bytes
        self._longer = longer

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        exchange = _Exchange(scope, receive, send, self._longer.get(scope["path"], self._body_bytes))
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

    def __init__(self, scope: Scope, receive: Receive, send: Send, limit: int) -> None:
        self._scope, self._receive, self._send, self._limit = scope, receive, send, limit
        self._headers = Headers(scope=scope)
        self._read = 0
        self._begun = False
        given = self._headers.get(REQUEST_ID, "")
        self.id = given if _USABLE.fullmatch(given) else secrets.token_hex(8)
        scope.setdefault("state", {})["request_id"] = self.id

    def refuse_declared_length(self) -> None:
        length = self._headers.get("content-length", "0")
        if length.isdigit() and int(length) > self._limit:
            raise self._too_large()

    async def receive(self) -> Message:
        message = await self._receive()
        self._read += len(message.get("body", b""))
        if self._read > self._limit:
            raise self._too_large()
        return message

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self._begun = True
            MutableHeaders(scope=message)[REQUEST_ID] = self.id
        await self._send(message)

    async def answer(self, response: Any) -> None:
        if not self._begun:
            await response(self._scope, self._receive, self.send)

    def _too_large(self) -> TooLarge:
        return TooLarge(f"a body holds at most {self._limit} bytes", limit_bytes=self._limit)
