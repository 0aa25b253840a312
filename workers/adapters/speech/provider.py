"""What the two providers of speech share: one HTTP call, and what each way it can end means."""

import asyncio
import re
from collections.abc import Mapping
from typing import Any, ClassVar

import httpx2

from pipelines.ports import Clock
from schemas.speech import Audio, Engine, SpeechFailed
from workers.adapters.speech.opus import finished

MAX_BYTES = 20 * 1024 * 1024
RETRYABLE = {408, 409, 425, 429}
_TOKEN = re.compile(r"[a-z][a-z0-9_.]{0,59}")


class ProviderSpeech:
    """POSTs JSON, takes a sound file. One attempt: who called decides about the next."""

    engine: ClassVar[Engine]

    def __init__(
        self,
        client: httpx2.AsyncClient,
        clock: Clock,
        api_key: str,
        base_url: str,
        model: str,
        timeout_seconds: float = 30,
    ) -> None:
        """`timeout_seconds` is for a whole call."""
        self._client = client
        self._clock = clock
        self._api_key = api_key
        self._base_url = base_url.rstrip("/")
        self._model = model
        self._timeout_seconds = timeout_seconds

    async def _spoken(self, path: str, headers: Mapping[str, str], body: Mapping[str, Any], voice: str) -> Audio:
        """What is answered, marked. Raises `SpeechFailed`, nothing else."""
        content = await self._posted(f"{self._base_url}{path}", headers, body)
        return finished(content, self.engine, voice, self._clock.now())

    async def _posted(self, url: str, headers: Mapping[str, str], body: Mapping[str, Any]) -> bytes:
        """The file as received, at most 20 MB."""
        try:
            async with asyncio.timeout(self._timeout_seconds):
                return await self._received(url, headers, body)
        except TimeoutError:
            raise self._failed(f"did not answer within {self._timeout_seconds:g} s", True) from None
        except (httpx2.HTTPError, httpx2.InvalidURL) as error:
            raise self._failed(f"was not heard to the end ({type(error).__name__})", True) from None

    async def _received(self, url: str, headers: Mapping[str, str], body: Mapping[str, Any]) -> bytes:
        received = bytearray()
        async with self._client.stream("POST", url, headers=headers, json=body) as response:
            async for part in response.aiter_bytes():
                received += part
                if len(received) > MAX_BYTES:
                    raise self._failed("answered more than 20 MB", False)
        if response.status_code != 200:
            raise self._refused(response, bytes(received))
        return bytes(received)

    def _refused(self, response: httpx2.Response, body: bytes) -> SpeechFailed:
        status = response.status_code
        reason = f", {token}" if (token := _error_token(response, body)) else ""
        # No credit comes back by itself within the minutes of a retry, whatever status says it.
        retryable = (status in RETRYABLE or status >= 500) and "quota" not in reason
        return self._failed(f"answered {status}{reason}", retryable, _retry_after(response))

    def _failed(self, what: str, retryable: bool, retry_after: float | None = None) -> SpeechFailed:
        return SpeechFailed(f"{self.engine} {what}", retryable, retry_after)


def _error_token(response: httpx2.Response, body: bytes) -> str | None:
    """The provider's own word for the error, never its sentence: that one may quote the text."""
    try:
        answer = httpx2.Response(response.status_code, content=body).json()
    except ValueError:
        return None
    error = (answer.get("error") or answer.get("detail")) if isinstance(answer, dict) else None
    words = [error.get(name) for name in ("code", "status", "type")] if isinstance(error, dict) else []
    return next((word for word in words if isinstance(word, str) and _TOKEN.fullmatch(word)), None)


def _retry_after(response: httpx2.Response) -> float | None:
    text = response.headers.get("retry-after", "")
    return float(text) if re.fullmatch(r"\d{1,6}(\.\d{1,3})?", text) else None
