"""Which model makes the vectors of this installation."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from pipelines.llm.models import OPENAI, Route, callable_providers, embedding_route
from pipelines.ports import Clock, Embedder
from schemas.settings import Settings, SettingsRefused
from workers.adapters.embeddings import DIMS, NAME, BuiltInEmbedder
from workers.adapters.postgres.bills import EmbeddingBills
from workers.adapters.postgres.database import Database

SECONDS = 20.0
"""A reply waits for a look-up no longer than this."""


def is_built_in(settings: Settings) -> bool:
    return not _route(settings)


def name_of(settings: Settings) -> str:
    """As it is stored beside each vector."""
    route = _route(settings)
    return f"{route[0].name}@{DIMS}" if route else NAME


@asynccontextmanager
async def open_embedder(settings: Settings, clock: Clock, database: Database) -> AsyncIterator[Embedder]:
    """Raises SettingsRefused when a model is named that makes no vectors here."""
    route = _route(settings)
    if not route:
        built_in = BuiltInEmbedder()
        try:
            yield built_in
        finally:
            built_in.close()
        return
    if route[0].provider != OPENAI:
        raise SettingsRefused(f"AI_MODEL_EMBEDDINGS: {route[0]} makes no vectors; name one of OpenAI's, or built-in")
    # 1.2 s and 19 MB: only where they are used.
    from workers.adapters.llm.build import open_openai  # noqa: PLC0415
    from workers.adapters.llm.embedder import OpenAIEmbedder  # noqa: PLC0415
    from workers.adapters.llm.prices import GenaiPrices  # noqa: PLC0415

    provider, bills = open_openai(settings, clock), EmbeddingBills(database, settings)
    seconds = min(settings.llm.timeout_seconds, SECONDS)
    embedder = OpenAIEmbedder(provider, route[0], bills, GenaiPrices(), clock, seconds)
    try:
        yield embedder
    finally:
        await embedder.close()


def _route(settings: Settings) -> Route:
    """Empty: the built-in model."""
    return tuple(model for model in embedding_route(settings) if model.provider in callable_providers(settings))
