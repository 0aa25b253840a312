"""Payments over HTTP: told by the platform, by Stripe, by the button of the test page; and a price that is edited."""

import asyncio
import hashlib
import hmac
import json
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from schemas.claims import Accepted
from schemas.payments import Link, Offering
from tests.builders_face import a_gateway
from tests.builders_shop import a_selling_reply, an_offer, stock
from tests.builders_storage import WEBHOOK
from tests.scene import PERSONA, Scene
from workers.adapters.payments.page import PracticePage

STRIPE = "whsec_of_the_stripe_endpoint"


@asynccontextmanager
async def a_shop(database_url: str, **environ: str) -> AsyncIterator[Scene]:
    async with a_gateway(database_url, **environ) as gateway:
        quiet = PERSONA | {"disclosure": {"notice": False, "accept": "2026-08"}}
        await gateway.organization("acme", quiet, webhook=WEBHOOK)
        await stock(gateway.run, v_1="10.00", p_2="2.50")
        yield Scene(gateway, await gateway.key("app", "acme"))


async def offer(scene: Scene, *bubbles: Any) -> None:
    await scene.say()
    await scene.decide(a_selling_reply(*(bubbles or (an_offer("v-1", "p-2", price="12.50"),))))


async def sold(scene: Scene, link: Link) -> None:
    """The first bubble's link has left."""
    await offer(scene)
    await scene.make_due()
    taken = await scene.take()
    assert isinstance(taken, Offering)
    posting = await scene.storage.leave_linked(taken, link)
    assert posting is not None
    await scene.storage.settle(posting, Accepted())


async def tell(scene: Scene, status: str, key: str | None = None, **more: Any) -> Any:
    return await scene.call("POST", "payments/pay_1/events", {"status": status} | more, key=key)


async def test_paid_posted_five_times_at_once_is_one_delivery(database_url: str) -> None:
    async with a_shop(database_url) as scene:
        await sold(scene, Link("https://pay.example/1"))

        answers = await asyncio.gather(*(tell(scene, "paid", reference="tx-9") for _ in range(5)))

        assert scene.answers[-5:] == [200] * 5
        assert {json.dumps(answer, sort_keys=True) for answer in answers} == {
            json.dumps(
                {
                    "id": "pay_1",
                    "conversation": "c-1",
                    "state": "paid",
                    "amount": "12.50",
                    "currency": "EUR",
                    "media_ids": ["v-1", "p-2"],
                    "url": "https://pay.example/1",
                    "reference": "tx-9",
                    "job": "job_2",
                },
                sort_keys=True,
            )
        }
        assert await scene.lines("SELECT kind, state FROM jobs ORDER BY id") == ["reply sent", "delivery sending"]
        assert await scene.bubbles() == ["0 payment sent pour toi", "0 video held ", "1 image held "]


async def test_who_may_tell_and_what_comes_too_late(database_url: str) -> None:
    async with a_shop(database_url) as scene:
        await sold(scene, Link("https://pay.example/1"))
        await scene.gateway.organization("other")
        for role in ("operator", "ops"):
            await tell(scene, "expired", key=await scene.gateway.key(role, "acme" if role == "operator" else None))
        await tell(scene, "paid", key=await scene.gateway.key("app", "other"))
        await tell(scene, "paid")
        late = await tell(scene, "expired")
        await tell(scene, "lost")
        await scene.call("POST", "payments/pay_9/events", {"status": "paid"})
        await scene.call("POST", "payments/job_1/events", {"status": "paid"})

        assert scene.answers[-8:] == [200, 403, 404, 200, 409, 422, 404, 404]
        assert (late["state"], late["code"]) == ("paid", "AR-409")
        assert await scene.lines("SELECT action, subject FROM audit_log WHERE action LIKE 'payment.%' ORDER BY id") == [
            "payment.expired pay_1",
            "payment.paid pay_1",
        ]


PRICES = [
    ({"amount": "6.25", "currency": "EUR"}, 200, None),
    ({"amount": "25", "currency": "EUR"}, 200, None),
    ({"amount": "6.24", "currency": "EUR"}, 422, "price.amount"),
    ({"amount": "25.01", "currency": "EUR"}, 422, "price.amount"),
    ({"amount": "10.00", "currency": "USD"}, 422, "price.currency"),
]


@pytest.mark.parametrize(("price", "status", "field"), PRICES, ids=str)
async def test_a_price_is_edited_within_floor_and_ceiling(
    database_url: str, price: dict[str, str], status: int, field: str | None
) -> None:
    async with a_shop(database_url) as scene:
        await offer(scene)
        scene.key = await scene.gateway.key("operator", "acme")
        answer = await scene.edit(1, price=price)

        assert scene.answers[-1] == status
        if field is None:
            shown = {**price, "amount": f"{float(price['amount']):.2f}"}
            assert (answer["price"], answer["version"]) == (shown, 1)
        else:
            assert [error["field"] for error in answer["errors"]] == [field]


async def test_words_have_no_price(database_url: str) -> None:
    async with a_shop(database_url) as scene:
        await offer(scene, "un", an_offer("v-1"))
        scene.key = await scene.gateway.key("operator", "acme")
        answer = await scene.edit(1, price={"amount": "8.00", "currency": "EUR"})

        assert (scene.answers[-1], answer["errors"][0]["message"]) == (422, "this bubble is not for sale")


# -------------------------------------------------------------------- the test page


async def test_the_test_page_says_what_it_is_and_its_button_pays_once(database_url: str) -> None:
    async with a_shop(database_url, REPLIQUE_PAYMENTS__PROVIDER="test") as scene:
        await offer(scene)
        await scene.make_due()
        taken = await scene.take()
        assert isinstance(taken, Offering)
        page = scene.gateway.parts.page
        assert isinstance(page, PracticePage)
        link = await page.make(taken.order)
        await scene.storage.leave_linked(taken, link)
        address = (link.url or "").removeprefix("http://127.0.0.1:8080")

        shown = await scene.gateway.call("GET", address, key=None)
        forged = await scene.gateway.call("POST", address[:-1] + "x", key=None)
        paid = [await scene.gateway.call("POST", address, key=None) for _ in range(2)]

        assert ("TEST" in shown.text, "no money moves here" in shown.text, "12.50 EUR" in shown.text) == (True,) * 3
        assert (shown.status_code, forged.status_code, [answer.status_code for answer in paid]) == (
            200,
            403,
            [200, 200],
        )
        assert "<button>" in shown.text
        assert "<button>" not in paid[0].text
        assert await scene.lines("SELECT kind FROM jobs ORDER BY id") == ["reply", "delivery"]


async def test_where_payments_are_real_there_is_no_test_page(database_url: str) -> None:
    async with a_shop(database_url) as scene:
        await sold(scene, Link(None))
        answers = [
            await scene.gateway.call(method, "/v1/payments/pay_1/page?sig=x", key=None) for method in ("GET", "POST")
        ]

        assert [answer.status_code for answer in answers] == [404, 404]
        assert await scene.lines("SELECT state FROM payments") == ["open"]


# -------------------------------------------------------------------- Stripe's word


def signed(event: dict[str, Any], secret: str = STRIPE, at: int | None = None) -> tuple[bytes, dict[str, str]]:
    """As Stripe documents it: HMAC-SHA-256 over `timestamp.body`."""
    body, when = json.dumps(event).encode(), int(time.time()) if at is None else at
    mac = hmac.new(secret.encode(), f"{when}.".encode() + body, hashlib.sha256).hexdigest()
    return body, {"Stripe-Signature": f"t={when},v1={mac}", "Content-Type": "application/json"}


def session(kind: str, id: str = "cs_1", **fields: Any) -> dict[str, Any]:
    whole = {"id": id, "object": "checkout.session", "payment_status": "paid", "metadata": {"payment": "pay_1"}}
    return {"id": "evt_1", "object": "event", "type": kind, "data": {"object": whole | fields}}


@asynccontextmanager
async def a_stripe_shop(database_url: str) -> AsyncIterator[Scene]:
    environ = {"STRIPE_KEY": "sk_test_x", "STRIPE_WEBHOOK_SECRET": STRIPE}
    async with a_shop(
        database_url, **{f"REPLIQUE_PAYMENTS__{name}": value for name, value in environ.items()}
    ) as scene:
        await sold(scene, Link("https://checkout.stripe.com/c/cs_1", "cs_1"))
        yield scene


async def post(scene: Scene, event: dict[str, Any], **how: Any) -> tuple[int, Any]:
    body, headers = signed(event, **how)
    answer = await scene.gateway.call("POST", "/v1/payments/stripe", key=None, content=body, headers=headers)
    return answer.status_code, answer.json().get("used")


async def test_stripes_signed_word_pays_and_expires(database_url: str) -> None:
    async with a_stripe_shop(database_url) as scene:
        slow = await post(scene, session("checkout.session.completed", payment_status="unpaid"))
        others = await post(scene, session("checkout.session.completed", id="cs_of_another"))
        ignored = await post(scene, session("charge.updated"))
        before = await scene.lines("SELECT state FROM payments")
        paid = [await post(scene, session("checkout.session.completed")) for _ in range(2)]
        late = await post(scene, session("checkout.session.expired"))

        assert (slow, others, ignored, before) == ((200, False), (200, False), (200, False), ["open"])
        assert (paid, late) == ([(200, True), (200, True)], (200, False))
        assert await scene.lines("SELECT state, paid_reference FROM payments") == ["paid cs_1"]
        assert await scene.lines("SELECT kind FROM jobs ORDER BY id") == ["reply", "delivery"]


async def test_what_stripe_has_not_signed_changes_nothing(database_url: str) -> None:
    async with a_stripe_shop(database_url) as scene:
        event = session("checkout.session.completed")
        forged = await post(scene, event, secret="whsec_another")
        old = await post(scene, event, at=int(time.time()) - 3600)
        odd = await post(scene, {"type": "checkout.session.completed"})
        unsigned = await scene.gateway.call("POST", "/v1/payments/stripe", event, key=None)

        assert ([forged[0], old[0], odd[0]], unsigned.status_code) == ([403, 403, 400], 403)
        assert await scene.lines("SELECT state FROM payments") == ["open"]


async def test_without_a_secret_stripe_is_not_listened_to(database_url: str) -> None:
    async with a_shop(database_url) as scene:
        assert (await post(scene, session("checkout.session.completed")))[0] == 404


async def test_a_payer_is_thanked(database_url: str) -> None:
    async with a_shop(database_url) as scene:
        page = await scene.gateway.call("GET", "/v1/payments/done", key=None)

        assert (page.status_code, "Merci" in page.text) == (200, True)
