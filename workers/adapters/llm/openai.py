"""Chat completions and embeddings through the official SDK: one HTTP attempt per call, nothing decided here."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from openai import AsyncOpenAI, OpenAIError, Timeout

from pipelines.llm.dialects.openai import embeddings_from_wire, embeddings_to_wire, from_wire, to_wire
from pipelines.ports import Clock
from schemas.errors import FailureKind, ModelFailure
from schemas.groups import LlmSettings
from schemas.ids import CallId
from schemas.llm import Model, ModelAnswer, ModelRequest, Usage
from workers.adapters.llm.classify_openai import classify
from workers.adapters.llm.headers import CALL_HEADER
from workers.adapters.llm.reading import read_answer


class OpenAIModel:
    """A `ChatModel`, and the embeddings of the same provider. Retries are the caller's, as everywhere."""

    def __init__(self, api_key: str, base_url: str | None, settings: LlmSettings, clock: Clock) -> None:
        self._clock = clock
        self._client = AsyncOpenAI(
            api_key=api_key,
            base_url=base_url,
            max_retries=0,
            timeout=Timeout(settings.timeout_seconds, connect=settings.connect_seconds),
        )

    async def ask(self, request: ModelRequest, deadline: float) -> ModelAnswer:
        wire: dict[str, Any] = to_wire(request)
        create = self._client.chat.completions.with_raw_response.create
        body, request_id, latency = await self._post(create, wire, request.call, deadline)
        return read_answer(body, lambda message: from_wire(message, request.model, request_id, latency))

    async def embed(
        self, call: CallId, model: Model, texts: Sequence[str], dims: int, deadline: float
    ) -> tuple[list[tuple[float, ...]], Usage, str | None, int]:
        """One unit vector a text, the tokens, the provider's request id, milliseconds. Raises ModelFailure."""
        wire = embeddings_to_wire(model, texts, dims)
        create = self._client.embeddings.with_raw_response.create
        body, request_id, latency = await self._post(create, wire, call, deadline)
        vectors, usage = read_answer(body, lambda message: embeddings_from_wire(message, len(texts)))
        return vectors, usage, request_id, latency

    async def close(self) -> None:
        await self._client.close()

    async def _post(
        self, create: Callable[..., Awaitable[Any]], wire: dict[str, Any], call: CallId, deadline: float
    ) -> tuple[bytes, str | None, int]:
        began = self._clock.monotonic()
        try:
            async with asyncio.timeout(max(deadline - began, 0)):
                # The body is read as it came: the SDK's classes would drop what they do not know.
                response = await create(**wire, extra_headers={CALL_HEADER: call})
        except TimeoutError:
            raise ModelFailure(FailureKind.DEADLINE, "the run's time was over before the answer came") from None
        except OpenAIError as error:
            raise classify(error, self._clock.now()) from error
        latency = round((self._clock.monotonic() - began) * 1000)
        return response.content, response.headers.get("x-request-id"), latency
