"""The gateway's own page, where no money moves and nobody can mistake it for one where it does."""

import hashlib
import hmac
from collections.abc import Awaitable, Callable
from urllib.parse import urlencode

from schemas.errors import NotSigned, Unavailable
from schemas.ids import PaymentId, reference
from schemas.payments import Link, LinkFailed, Order

# A key of its own, so that no signature made elsewhere with the same secret ever pays.
PURPOSE = b"replique test payment v1"

Secret = Callable[[], Awaitable[str]]


class PracticePage:
    """Signs the page's addresses and checks them. `secret` answers the installation's, and may raise `Unavailable`."""

    def __init__(self, secret: Secret, public_url: str) -> None:
        self._secret = secret
        self._public_url = public_url.rstrip("/")

    async def make(self, order: Order) -> Link:
        try:
            signature = await self._sign(order.payment)
        except Unavailable as error:
            raise LinkFailed(error.sentence, retryable=True) from None
        query = urlencode({"sig": signature})
        return Link(f"{self._public_url}/v1/payments/{reference('pay', order.payment)}/page?{query}")

    async def admit(self, payment: PaymentId, signature: str) -> None:
        """Raises Forbidden."""
        if not (signature.isascii() and hmac.compare_digest(await self._sign(payment), signature)):
            raise NotSigned("this link was not made here, or was changed")

    async def _sign(self, payment: PaymentId) -> str:
        key = hmac.digest((await self._secret()).encode(), PURPOSE, hashlib.sha256)
        return hmac.new(key, str(payment).encode(), hashlib.sha256).hexdigest()
