"""The port `Embedder` at a provider: each HTTP attempt has its row in the ledger, set aside before it, settled after.

Vectors are asked for at the width of the column, and stored under a name that says so: those of another model, or of
another width, are never compared with them.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Protocol
from uuid import uuid4

from pipelines.llm.pricing import BYTES_PER_TOKEN
from pipelines.ports import Clock, PriceTable
from schemas.errors import ModelFailure, Unavailable
from schemas.ids import CallId, OrgId
from schemas.llm import Model, Reservation, SettledCall, Task, Usage
from workers.adapters.embeddings import DIMS
from workers.adapters.llm.openai import OpenAIModel

MOST_TEXTS = 256
"""In one request: passages of documents stay below what a request may hold."""


class Bills(Protocol):
    """Where what an organisation's embeddings cost is written down. Raises `Unavailable`."""

    async def reserve(self, org: OrgId | None, reservation: Reservation) -> None: ...
    async def settle(self, org: OrgId | None, call: SettledCall) -> None: ...


@dataclass(frozen=True, slots=True)
class OpenAIEmbedder:
    """One attempt each time; `seconds` is how long it may take."""

    provider: OpenAIModel
    model: Model
    bills: Bills
    prices: PriceTable
    clock: Clock
    seconds: float

    @property
    def name(self) -> str:
        return f"{self.model.name}@{DIMS}"

    @property
    def dims(self) -> int:
        return DIMS

    async def embed(self, texts: Sequence[str], org: OrgId | None = None) -> list[tuple[float, ...]]:
        """Raises Unavailable when the provider does not answer."""
        vectors: list[tuple[float, ...]] = []
        for at in range(0, len(texts), MOST_TEXTS):
            vectors += await self._once(texts[at : at + MOST_TEXTS], org)
        return vectors

    async def close(self) -> None:
        await self.provider.close()

    async def _once(self, texts: Sequence[str], org: OrgId | None) -> list[tuple[float, ...]]:
        call = CallId(f"embed.{uuid4().hex}")
        tokens = sum(len(text.encode("utf-8", "replace")) for text in texts) // BYTES_PER_TOKEN + 1
        held = Reservation(call, Task.EMBEDDINGS, self.model, self.prices.cost(self.model, Usage(input=tokens)))
        await self.bills.reserve(org, held)
        began = self.clock.monotonic()
        try:
            found = await self.provider.embed(call, self.model, texts, DIMS, began + self.seconds)
        except ModelFailure as failure:
            await self.bills.settle(org, self._failed(held, failure, began))
            raise Unavailable(f"the embedding model did not answer: {failure.sentence}") from failure
        vectors, usage, request_id, latency = found
        cost = self.prices.cost(self.model, usage)
        await self.bills.settle(
            org, SettledCall(call, Task.EMBEDDINGS, self.model, "ok", usage, cost, latency, request_id)
        )
        return vectors

    def _failed(self, held: Reservation, failure: ModelFailure, began: float) -> SettledCall:
        unknown = failure.kind.cost_unknown
        return SettledCall(
            call=held.call,
            task=held.task,
            model=held.model,
            outcome=failure.kind.value,
            cost_usd=held.cost_usd if unknown else Decimal(0),
            latency_ms=round((self.clock.monotonic() - began) * 1000),
            unknown=unknown,
        )
