"""Stripe Checkout: one session is one link. Stripe tells what became of it at our webhook, signed."""

import json
from dataclasses import dataclass
from datetime import UTC, datetime
from http import HTTPStatus
from typing import Any

import aiohttp
import stripe

from pipelines.selling import minor_units
from schemas.errors import BadRequest, NotSigned
from schemas.ids import reference
from schemas.payments import Link, LinkFailed, Order, PaymentState
from schemas.settings import Settings

_AGAIN = (HTTPStatus.CONFLICT, HTTPStatus.TOO_MANY_REQUESTS)
TOLERANCE_SECONDS = 300
DONE_PATH = "/v1/payments/done"

_TOLD = {
    "checkout.session.completed": PaymentState.PAID,
    "checkout.session.async_payment_succeeded": PaymentState.PAID,
    "checkout.session.expired": PaymentState.EXPIRED,
}
_SETTLED = frozenset({"paid", "no_payment_required"})


class StripeLinks:
    """The library's own retries are off: who calls counts attempts and keeps due times."""

    def __init__(self, settings: Settings) -> None:
        wanted = settings.payments
        if wanted.stripe_key is None:
            raise ValueError("a key is needed")
        stripe.enable_telemetry = False
        self._http = stripe.AIOHTTPClient(timeout=aiohttp.ClientTimeout(total=wanted.timeout_seconds))
        self._client = stripe.StripeClient(
            wanted.stripe_key.get_secret_value(),
            base_addresses={"api": wanted.stripe_base_url.rstrip("/")},
            http_client=self._http,
            max_network_retries=0,
        )
        self._return_url = wanted.return_url or settings.public_url.rstrip("/") + DONE_PATH

    async def close(self) -> None:
        await self._http.close_async()  # type: ignore[no-untyped-call]

    async def make(self, order: Order) -> Link:
        try:
            session = await self._client.v1.checkout.sessions.create_async(
                params=self._session(order), options={"idempotency_key": order.key}
            )
        except stripe.StripeError as error:
            raise _failed(error) from error
        if not session.url:
            raise LinkFailed("stripe made a session without an address", retryable=False)
        return Link(session.url, session.id, datetime.fromtimestamp(session.expires_at, UTC))

    async def expire(self, session: str) -> None:
        """One that is not open any more cannot be expired, and need not be."""
        try:
            await self._client.v1.checkout.sessions.expire_async(session)
        except stripe.InvalidRequestError as error:
            if await self._is_open(session):
                raise _failed(error) from error
        except stripe.StripeError as error:
            raise _failed(error) from error

    async def _is_open(self, session: str) -> bool:
        try:
            found = await self._client.v1.checkout.sessions.retrieve_async(session)
        except stripe.StripeError as error:
            raise _failed(error) from error
        return found.status == "open"

    def _session(self, order: Order) -> Any:
        product = {"name": order.title}
        price = {
            "currency": order.price.currency.lower(),
            "unit_amount": minor_units(order.price),
            "product_data": product,
        }
        payment = reference("pay", order.payment)
        return {
            "mode": "payment",
            "line_items": [{"quantity": 1, "price_data": price}],
            "client_reference_id": payment,
            "metadata": {"payment": payment, "order": order.key},
            "success_url": self._return_url,
        }


def _failed(error: stripe.StripeError) -> LinkFailed:
    """Of what Stripe says only its own short words are kept: a sentence may quote what was sent."""
    status = error.http_status
    if status is None:
        return LinkFailed("stripe did not answer", retryable=True)
    word = error.code or type(error).__name__
    retryable = status in _AGAIN or status >= HTTPStatus.INTERNAL_SERVER_ERROR
    return LinkFailed(f"stripe answered {status} ({word})", retryable, _seconds(error.headers))


def _seconds(headers: Any) -> float | None:
    given = {str(name).lower(): value for name, value in (headers or {}).items()}.get("retry-after", "")
    return float(given) if str(given).isascii() and str(given).isdigit() else None


@dataclass(frozen=True, slots=True)
class Told:
    """`session` is the `reference` of the payment whose link it is, or of nobody's here."""

    session: str
    to: PaymentState


class StripeEvents:
    """Reads what Stripe posts. `secret` is the endpoint's."""

    def __init__(self, secret: str) -> None:
        self._secret = secret

    def read(self, body: bytes, signature: str) -> Told | None:
        """None: genuine, and nothing that changes a payment. Raises Forbidden, BadRequest."""
        try:
            stripe.WebhookSignature.verify_header(body.decode(), signature, self._secret, tolerance=TOLERANCE_SECONDS)
            event = json.loads(body)
            to, session = _TOLD.get(event["type"]), event["data"]["object"]
            paid, name = session.get("payment_status") in _SETTLED, str(session["id"])
        except stripe.SignatureVerificationError:
            raise NotSigned("this was not signed by Stripe for this endpoint, or long ago") from None
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            raise BadRequest("this is no event of Stripe") from None
        # With a slow method of payment the session completes first; another event says when the money is there.
        if to is None or (to is PaymentState.PAID and not paid):
            return None
        return Told(name, to)
