"""Who makes the links of this installation, by its settings."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from pipelines.ports import PaymentLinks
from schemas.payments import PaymentProvider
from schemas.settings import Settings, SettingsRefused
from workers.adapters.payments.page import PracticePage
from workers.adapters.payments.platform import PlatformLinks


@asynccontextmanager
async def open_payments(settings: Settings, secret: Callable[[], Awaitable[str]]) -> AsyncIterator[PaymentLinks]:
    """Raises SettingsRefused when Stripe is named without its key, or its library is not installed."""
    match settings.payment_provider:
        case PaymentProvider.WEBHOOK:
            yield PlatformLinks()
        case PaymentProvider.TEST:
            yield PracticePage(secret, settings.public_url)
        case PaymentProvider.STRIPE:
            if settings.payments.stripe_key is None:
                raise SettingsRefused(
                    "REPLIQUE_PAYMENTS__STRIPE_KEY: missing, and REPLIQUE_PAYMENTS__PROVIDER is stripe"
                )
            # 1.3 s and 80 MB: only where it is used.
            from workers.adapters.payments.stripe import StripeLinks  # noqa: PLC0415

            links = StripeLinks(settings)
            try:
                yield links
            finally:
                await links.close()
