"""Signed webhooks (https://www.standardwebhooks.com) over HTTP: one attempt, and what it proved."""

import asyncio
import json
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from importlib.metadata import version
from types import TracebackType
from typing import Any, Self

import httpcore2
import httpx2
from standardwebhooks.webhooks import EmptyWebhookSecretError, Webhook

from pipelines.ports import Clock
from schemas.claims import Accepted, Endpoint, Posted, Refused, Unknown
from workers.adapters.channels.guard import AddressRefused, GuardedBackend
from workers.runtime.logging import logger

log = logger(__name__)

MOST_BYTES = 64 * 1024
RETRIED = frozenset({408, 425, 429})
LONGEST_WAIT_SECONDS = 86_400.0
CONNECTIONS = 200


class _Sending:
    """Whether any of the request has left: until then, a failure means that nobody saw it."""

    def __init__(self) -> None:
        self.begun = False

    async def trace(self, event: str, _info: dict[str, Any]) -> None:
        if event.endswith("send_request_headers.started"):
            self.begun = True


class _GuardedTransport(httpx2.AsyncHTTPTransport):
    def __init__(self, private: bool) -> None:
        context = httpx2.create_ssl_context()
        super().__init__(verify=context)
        self._pool = httpcore2.AsyncConnectionPool(
            ssl_context=context,
            max_connections=CONNECTIONS,
            max_keepalive_connections=CONNECTIONS,
            # Shorter than receivers keep theirs: a connection closed under a request leaves it in doubt.
            keepalive_expiry=4.0,
            network_backend=GuardedBackend(private),
        )


class WebhookChannel:
    """The `Channel` port for organisations with an endpoint. Make it on the event loop that uses it."""

    def __init__(self, clock: Clock, timeout_seconds: float, allow_private: bool = False) -> None:
        self._clock = clock
        self._timeout = timeout_seconds
        self._client = httpx2.AsyncClient(
            transport=_GuardedTransport(allow_private),
            follow_redirects=False,
            timeout=httpx2.Timeout(timeout_seconds),
            headers={
                "user-agent": f"replique/{version('replique')}",
                "content-type": "application/json",
                "accept-encoding": "identity",
            },
            trust_env=False,
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        await self._client.aclose()

    async def post(self, endpoint: Endpoint | None, webhook_id: str, body: str) -> Posted:
        if endpoint is None:
            return Refused("no webhook is configured", final=True)
        prepared = self._prepared(endpoint, webhook_id, body)
        if isinstance(prepared, Refused):
            return prepared
        sending = _Sending()
        prepared.extensions["trace"] = sending.trace
        try:
            return await self._sent(prepared, asyncio.get_running_loop().time() + self._timeout)
        except AddressRefused:
            return Refused("the webhook's address is not public", final=True)
        except (TimeoutError, httpx2.TimeoutException):
            sentence = f"no answer within {self._timeout:g} s"
        except (httpx2.HTTPError, httpx2.InvalidURL, OSError, ValueError) as error:
            sentence = f"the connection failed: {type(error).__name__}"
        return Unknown(sentence) if sending.begun else Refused(sentence, final=False)

    def _prepared(self, endpoint: Endpoint, webhook_id: str, body: str) -> httpx2.Request | Refused:
        now = self._clock.now().astimezone(UTC)
        try:
            url = httpx2.URL(endpoint.url)
            signature = Webhook(endpoint.secret).sign(webhook_id, now, body)
        except (httpx2.InvalidURL, EmptyWebhookSecretError, ValueError):
            return Refused("the webhook's URL or secret cannot be used", final=True)
        if url.scheme not in {"http", "https"} or not url.host or url.userinfo:
            return Refused("the webhook's URL must be http or https, without a user", final=True)
        headers = {
            "webhook-id": webhook_id,
            "webhook-timestamp": str(int(now.timestamp())),
            "webhook-signature": signature,
        }
        return self._client.build_request("POST", url, content=body.encode(), headers=headers)

    async def _sent(self, request: httpx2.Request, deadline: float) -> Posted:
        async with asyncio.timeout_at(deadline):
            response = await self._client.send(request, stream=True)
        try:
            if response.is_success:
                return Accepted(await _platform_id(response, deadline))
            await _read(response, deadline)
            return self._refused(response)
        finally:
            await response.aclose()

    def _refused(self, response: httpx2.Response) -> Refused:
        status = response.status_code
        retried = status in RETRIED or status >= 500
        return Refused(
            f"the receiver answered {status}",
            final=not retried,
            gone=status == 410,
            retry_after=self._retry_after(response.headers.get("retry-after")) if retried else None,
        )

    def _retry_after(self, value: str | None) -> float | None:
        """Seconds, from seconds or an HTTP date; None when there is none that makes sense."""
        if value is None:
            return None
        try:
            seconds = float(value) if value.strip().isdecimal() else self._until(parsedate_to_datetime(value))
        except (ValueError, OverflowError):
            return None
        return min(max(seconds, 0.0), LONGEST_WAIT_SECONDS)

    def _until(self, date: datetime) -> float:
        aware = date if date.tzinfo else date.replace(tzinfo=UTC)
        return (aware - self._clock.now()).total_seconds()


async def _read(response: httpx2.Response, deadline: float) -> bytes:
    """The body, as far as 64 KiB: what follows is not waited for. Never unpacked: 64 KiB may hold gigabytes."""
    body = b""
    async with asyncio.timeout_at(deadline):
        async for part in response.aiter_raw():
            body += part
            if len(body) >= MOST_BYTES:
                break
    return body[:MOST_BYTES]


async def _platform_id(response: httpx2.Response, deadline: float) -> str | None:
    """What the receiver calls the message. Its yes stands in the status line: a body that is cut takes nothing back."""
    try:
        answer = json.loads(await _read(response, deadline))
    except (httpx2.HTTPError, TimeoutError, ValueError, RecursionError):
        return None
    found = answer.get("id") if isinstance(answer, dict) else None
    if isinstance(found, bool) or not isinstance(found, str | int):
        return None
    return str(found).replace("\x00", "")[:200] or None
