"""Stripe's own library against a server on its wire: what is asked, and what each answer means."""

import json
from collections.abc import Callable
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any
from urllib.parse import parse_qs

import pytest

from schemas.ids import PaymentId
from schemas.money import Price
from schemas.payments import Link, LinkFailed, Order
from schemas.settings import Settings, read_settings
from tests.receiver import Answer, Receiver, raw, receiving, silence, status
from workers.adapters.payments.stripe import StripeLinks
from workers.adapters.payments.wanted import StripeWhenWanted

ORDER = Order(PaymentId(7), "replique-abc-pay_7", Price(Decimal("12.50"), "EUR"), "Maya: 1 photo", "fr")
SESSION = {
    "id": "cs_test_1",
    "object": "checkout.session",
    "url": "https://checkout.stripe.com/c/pay/cs_test_1",
    "expires_at": 1_796_169_600,
    "metadata": {},
}


def answering(body: dict[str, Any], code: int = 200, **headers: str) -> Answer:
    return status(code, json.dumps(body), content_type="application/json", **headers)


def refusing(answered: int, **error: str) -> Answer:
    return answering({"error": {"message": "never shown: 12.50", **error}}, answered)


def settings_for(receiver: Receiver, seconds: float = 5) -> Settings:
    return read_settings(
        {
            "REPLIQUE_PAYMENTS__STRIPE_KEY": "sk_test_of_ours",
            "REPLIQUE_PAYMENTS__STRIPE_BASE_URL": f"http://127.0.0.1:{receiver.port}",
            "REPLIQUE_PAYMENTS__TIMEOUT_SECONDS": str(seconds),
            "PUBLIC_URL": "https://replies.example",
        }
    )


async def make(receiver: Receiver, order: Order = ORDER, seconds: float = 5) -> Link:
    links = StripeLinks(settings_for(receiver, seconds))
    try:
        return await links.make(order)
    finally:
        await links.close()


async def test_an_order_is_a_checkout_session_under_its_own_key() -> None:
    async with receiving(answering(SESSION)) as receiver:
        link = await make(receiver)

    headers, body = receiver.heard[0]
    assert link == Link(SESSION["url"], "cs_test_1", datetime.fromtimestamp(1_796_169_600, UTC))
    assert headers[":request"] == "POST /v1/checkout/sessions HTTP/1.1"
    assert (headers["authorization"], headers["idempotency-key"]) == ("Bearer sk_test_of_ours", ORDER.key)
    assert "x-stripe-client-telemetry" not in headers
    assert {name: values[0] for name, values in parse_qs(body).items()} == {
        "mode": "payment",
        "line_items[0][quantity]": "1",
        "line_items[0][price_data][currency]": "eur",
        "line_items[0][price_data][unit_amount]": "1250",
        "line_items[0][price_data][product_data][name]": "Maya: 1 photo",
        "client_reference_id": "pay_7",
        "metadata[payment]": "pay_7",
        "metadata[order]": ORDER.key,
        "success_url": "https://replies.example/v1/payments/done",
    }


FAILURES: list[tuple[Callable[[], Answer], str, bool, float | None]] = [
    (lambda: refusing(400, code="amount_too_small"), "stripe answered 400 (amount_too_small)", False, None),
    (lambda: refusing(401), "stripe answered 401 (AuthenticationError)", False, None),
    (lambda: refusing(403), "stripe answered 403 (PermissionError)", False, None),
    (lambda: refusing(409, code="idempotency_key_in_use"), "stripe answered 409 (APIError)", True, None),
    (
        lambda: answering({"error": {"message": "slow"}}, 429, retry_after="7"),
        "stripe answered 429 (RateLimitError)",
        True,
        7.0,
    ),
    (lambda: refusing(500), "stripe answered 500 (APIError)", True, None),
    (lambda: refusing(503), "stripe answered 503 (APIError)", True, None),
    (lambda: raw(b"HTTP/1.1 200 OK\r\ncontent-le"), "stripe did not answer", True, None),
    (lambda: silence(3), "stripe did not answer", True, None),
    (lambda: answering(SESSION | {"url": None}), "stripe made a session without an address", False, None),
]


@pytest.mark.parametrize(
    ("answer", "sentence", "retryable", "after"), FAILURES, ids=lambda value: "" if callable(value) else str(value)[:40]
)
async def test_a_failure_says_whether_to_come_back(
    answer: Callable[[], Answer], sentence: str, retryable: bool, after: float | None
) -> None:
    async with receiving(answer()) as receiver:
        with pytest.raises(LinkFailed) as failed:
            await make(receiver, seconds=1)

    told = failed.value
    assert (told.sentence, told.retryable, told.retry_after) == (sentence, retryable, after)
    assert len(receiver.heard) == 1


async def test_nobody_there() -> None:
    async with receiving() as receiver:
        pass
    with pytest.raises(LinkFailed) as failed:
        await make(receiver)

    assert (failed.value.sentence, failed.value.retryable) == ("stripe did not answer", True)


async def test_yen_have_no_cents() -> None:
    async with receiving(answering(SESSION)) as receiver:
        await make(receiver, Order(PaymentId(8), "k", Price(Decimal(900), "JPY"), "Maya", "ja"))

    assert "unit_amount%5D=900&" in receiver.heard[0][1] or "unit_amount]=900&" in receiver.heard[0][1]


async def expire(receiver: Receiver) -> str | None:
    """Why the session may still be open; None: it is not."""
    links = StripeWhenWanted(settings_for(receiver))
    try:
        await links.expire("cs_test_1")
    except LinkFailed as failed:
        return failed.sentence
    finally:
        await links.close()
    return None


EXPIRE = "POST /v1/checkout/sessions/cs_test_1/expire HTTP/1.1"
LOOK = "GET /v1/checkout/sessions/cs_test_1 HTTP/1.1"
OVER = {"type": "invalid_request_error", "message": "Only Checkout Sessions with a status in ['open'] can be expired."}


@pytest.mark.parametrize(
    ("answers", "asked", "why"),
    [
        ([answering(SESSION | {"status": "expired"})], [EXPIRE], None),
        ([refusing(400, **OVER), answering(SESSION | {"status": "complete"})], [EXPIRE, LOOK], None),
        ([refusing(400, **OVER), answering(SESSION | {"status": "expired"})], [EXPIRE, LOOK], None),
        (
            [refusing(400, **OVER), answering(SESSION | {"status": "open"})],
            [EXPIRE, LOOK],
            "stripe answered 400 (InvalidRequestError)",
        ),
        (
            [refusing(404, code="resource_missing"), refusing(404, code="resource_missing")],
            [EXPIRE, LOOK],
            "stripe answered 404 (resource_missing)",
        ),
        ([refusing(500)], [EXPIRE], "stripe answered 500 (APIError)"),
    ],
    ids=["open", "paid meanwhile", "over", "refused", "another account", "away"],
)
async def test_a_session_is_expired_or_was_over(answers: list[Answer], asked: list[str], why: str | None) -> None:
    async with receiving(*answers) as receiver:
        found = await expire(receiver)

    assert (found, [headers[":request"] for headers, _ in receiver.heard]) == (why, asked)


async def test_without_a_key_no_session_can_be_expired() -> None:
    with pytest.raises(LinkFailed) as failed:
        await StripeWhenWanted(Settings()).expire("cs_test_1")

    assert failed.value.sentence == "REPLIQUE_PAYMENTS__STRIPE_KEY is missing here"
