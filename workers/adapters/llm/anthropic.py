"""The Messages API through the official SDK: one HTTP attempt per call, nothing decided here."""

import asyncio
import json
from typing import Any

import httpx2
from anthropic import AnthropicError, AsyncAnthropic, Timeout

from pipelines.llm.dialects.anthropic import from_wire, to_wire
from pipelines.ports import Clock
from schemas.errors import FailureKind, ModelFailure
from schemas.groups import LlmSettings
from schemas.llm import ModelAnswer, ModelRequest
from workers.adapters.llm.classify import classify, of_error_body
from workers.adapters.llm.headers import CALL_HEADER
from workers.adapters.llm.reading import read_answer

PATH = "/v1/messages"


class AnthropicModel:
    """A `ChatModel`. Retries are the caller's: the SDK's own would sleep an hour inside a worker if told to."""

    def __init__(self, api_key: str, base_url: str | None, settings: LlmSettings, clock: Clock) -> None:
        self._clock = clock
        self._client = AsyncAnthropic(
            api_key=api_key,
            base_url=base_url,
            max_retries=0,
            timeout=Timeout(settings.timeout_seconds, connect=settings.connect_seconds),
            open_telemetry=False,
        )

    async def ask(self, request: ModelRequest, deadline: float) -> ModelAnswer:
        began = self._clock.monotonic()
        try:
            async with asyncio.timeout(max(deadline - began, 0)):
                body, request_id = await self._post(request)
        except TimeoutError:
            raise ModelFailure(FailureKind.DEADLINE, "the run's time was over before the answer came") from None
        latency = round((self._clock.monotonic() - began) * 1000)
        return _answer(body, request, request_id, latency)

    async def close(self) -> None:
        await self._client.close()

    async def _post(self, request: ModelRequest) -> tuple[bytes, str | None]:
        body = json.dumps(to_wire(request), separators=(",", ":"), ensure_ascii=False).encode()
        try:
            # The SDK's door for bodies that are finished: it copies nothing, and what is read is what came. Parsed into
            # the SDK's classes an answer would lose its order of keys.
            response = await self._client.post(
                PATH, content=body, cast_to=httpx2.Response, options={"headers": {CALL_HEADER: request.call}}
            )
        except AnthropicError as error:
            raise classify(error, self._clock.now()) from error
        return response.content, response.headers.get("request-id")


def _answer(body: bytes, request: ModelRequest, request_id: str | None, latency_ms: int) -> ModelAnswer:
    def read(message: Any) -> ModelAnswer:
        if message.get("type") == "error":
            raise of_error_body(str((message.get("error") or {}).get("type")))
        return from_wire(message, request.model, request_id, latency_ms)

    return read_answer(body, read)
