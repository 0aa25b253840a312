"""Signed webhooks (https://www.standardwebhooks.com) over HTTP: one attempt, and what it proved."""

import asyncio
import json
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from importlib.metadata import version
from types import SimpleNamespace, TracebackType
from typing import Any, Self

import aiohttp
import httpx2
from standardwebhooks.webhooks import EmptyWebhookSecretError, Webhook
from yarl import URL

from pipelines.ports import Clock
from pipelines.text import storable
from schemas.claims import Accepted, Endpoint, Posted, Refused, Unknown
from schemas.web import FORBIDDEN_PORTS, fault_of
from workers.adapters.channels.guard import AddressRefused, Guard
from workers.runtime.logging import logger

log = logger(__name__)

MOST_BYTES = 64 * 1024
RETRIED = frozenset({408, 425, 429})
LONGEST_WAIT_SECONDS = 86_400.0
CONNECTIONS = 200
_FAILURES: tuple[tuple[type[Exception], str], ...] = (
    (aiohttp.ClientConnectorDNSError, "the receiver's name does not resolve"),
    (aiohttp.ClientSSLError, "no TLS connection to the receiver"),
    (aiohttp.ClientConnectorError, "the receiver cannot be reached"),
    (aiohttp.ServerDisconnectedError, "the receiver hung up without an answer"),
    (aiohttp.ClientPayloadError, "the receiver's answer was cut"),
    (aiohttp.ClientResponseError, "the receiver's answer is not HTTP"),
)
"""What happened, for people; the first that fits."""
UNUSABLE = Refused("the webhook's URL or secret cannot be used", final=True)


class _Sending:
    """Whether a connection was there for the request: until then, a failure means that nobody saw it."""

    def __init__(self) -> None:
        self.begun = False


async def _connected(_session: aiohttp.ClientSession, context: SimpleNamespace, _facts: Any) -> None:
    context.trace_request_ctx.begun = True


def _traced() -> aiohttp.TraceConfig:
    config = aiohttp.TraceConfig()
    config.on_connection_create_end.append(_connected)
    config.on_connection_reuseconn.append(_connected)
    config.freeze()
    return config


class WebhookChannel:
    """The `Channel` port for organisations with an endpoint. Make it on the event loop that uses it."""

    def __init__(self, clock: Clock, timeout_seconds: float, guard: Guard) -> None:
        self._clock = clock
        self._timeout = timeout_seconds
        # No total: the deadline is ours, and covers waiting for a free connection too.
        self._client = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(
                limit=CONNECTIONS,
                # Shorter than receivers keep theirs: a connection closed under a request leaves it in doubt.
                keepalive_timeout=4.0,
                use_dns_cache=False,
                resolver=guard,
                socket_factory=guard.socket,
                ssl=httpx2.create_ssl_context(),
            ),
            cookie_jar=aiohttp.DummyCookieJar(),
            timeout=aiohttp.ClientTimeout(total=None),
            auto_decompress=False,
            headers={
                "user-agent": f"replique/{version('replique')}",
                "content-type": "application/json",
                "accept-encoding": "identity",
            },
            trace_configs=[_traced()],
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        await self._client.close()

    async def post(self, endpoint: Endpoint | None, webhook_id: str, body: str) -> Posted:
        if endpoint is None:
            return Refused("no webhook is configured", final=True)
        url = _usable(endpoint.url)
        headers = None if url is None else self._signed(endpoint.secret, webhook_id, body)
        if url is None or headers is None:
            return UNUSABLE
        sending = _Sending()
        try:
            return await self._sent(url, headers, body, sending)
        except AddressRefused:
            return Refused("the webhook's address is not public", final=True)
        except aiohttp.InvalidURL:
            return UNUSABLE
        except TimeoutError:
            sentence = f"no answer within {self._timeout:g} s"
        except (aiohttp.ClientError, OSError, ValueError) as error:
            sentence = _sentence(error)
        return Unknown(sentence) if sending.begun else Refused(sentence, final=False)

    def _signed(self, secret: str, webhook_id: str, body: str) -> dict[str, str] | None:
        now = self._clock.now().astimezone(UTC)
        try:
            signature = Webhook(secret).sign(webhook_id, now, body)
        except (EmptyWebhookSecretError, ValueError):
            return None
        return {
            "webhook-id": webhook_id,
            "webhook-timestamp": str(int(now.timestamp())),
            "webhook-signature": signature,
        }

    async def _sent(self, url: URL, headers: dict[str, str], body: str, sending: _Sending) -> Posted:
        deadline = asyncio.get_running_loop().time() + self._timeout
        async with asyncio.timeout_at(deadline):
            response = await self._client.post(
                url, data=body.encode(), headers=headers, allow_redirects=False, trace_request_ctx=sending
            )
        try:
            if 200 <= response.status < 300:
                return Accepted(await _platform_id(response, deadline))
            await _read(response, deadline)
            return self._refused(response)
        finally:
            response.release()

    def _refused(self, response: aiohttp.ClientResponse) -> Refused:
        status = response.status
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


def _sentence(error: Exception) -> str:
    known = (sentence for kind, sentence in _FAILURES if isinstance(error, kind))
    return next(known, f"the connection failed: {type(error).__name__}")


def _usable(text: str) -> URL | None:
    """Judged as the client reads it: two readers of one address may see two hosts."""
    try:
        url = URL(text)
        return url if fault_of(str(url)) is None and url.port not in FORBIDDEN_PORTS else None
    except ValueError:
        return None


async def _read(response: aiohttp.ClientResponse, deadline: float) -> bytes:
    """The body, as far as 64 KiB: what follows is not waited for. Never unpacked: 64 KiB may hold gigabytes."""
    body = b""
    async with asyncio.timeout_at(deadline):
        async for part in response.content.iter_any():
            body += part
            if len(body) >= MOST_BYTES:
                break
    return body[:MOST_BYTES]


async def _platform_id(response: aiohttp.ClientResponse, deadline: float) -> str | None:
    """What the receiver calls the message. Its yes stands in the status line: a body that is cut takes nothing back."""
    try:
        answer = json.loads(await _read(response, deadline))
    except (aiohttp.ClientError, TimeoutError, ValueError, RecursionError):
        return None
    found = answer.get("id") if isinstance(answer, dict) else None
    if isinstance(found, bool) or not isinstance(found, str | int):
        return None
    return storable(str(found))[:200] or None
