"""Stripe, for a process that only has to close links now and then."""

import asyncio
from importlib import import_module
from typing import TYPE_CHECKING

from schemas.payments import LinkFailed
from schemas.settings import Settings

if TYPE_CHECKING:
    from workers.adapters.payments.stripe import StripeLinks


class StripeWhenWanted:
    """The port `LinkExpiry`. Library and key are asked for with the first link that is to be closed: a process that
    never closes one runs without them. Loaded beside the event loop (0.1 s, 6 MB)."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._links: StripeLinks | None = None
        self._loading = asyncio.Lock()

    async def expire(self, session: str) -> None:
        links = await self._loaded()
        await links.expire(session)

    async def close(self) -> None:
        if self._links is not None:
            await self._links.close()

    async def _loaded(self) -> "StripeLinks":
        async with self._loading:
            if self._links is None:
                if self._settings.payments.stripe_key is None:
                    raise LinkFailed("REPLIQUE_PAYMENTS__STRIPE_KEY is missing here", retryable=False)
                try:
                    module = await asyncio.to_thread(import_module, "workers.adapters.payments.stripe")
                except ImportError:
                    raise LinkFailed("Stripe's library is not installed here", retryable=False) from None
                self._links = module.StripeLinks(self._settings)
            return self._links
