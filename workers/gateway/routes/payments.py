"""Payments: whoever takes the money tells what became of it."""

from typing import Annotated, Any

from fastapi import APIRouter, Body, Header, Request
from fastapi.responses import Response

from schemas.access import Role
from schemas.answers import Heard, PaymentOut
from schemas.errors import NotFound, TooLate
from schemas.http import PaymentEventIn
from schemas.ids import PaymentId
from schemas.payments import PaymentProvider, PaymentState
from workers.adapters.payments.page import PracticePage
from workers.gateway import paying
from workers.gateway.auth import allows
from workers.gateway.parts import Parts
from workers.gateway.refusals import only, refusals
from workers.gateway.routing import By, GuardedRoute, The, answer, known_number

router = APIRouter(prefix="/v1/payments", tags=["payments"], route_class=GuardedRoute)

_PAGE = {"content": {"text/html": {"schema": {"type": "string"}}}, "description": "A page for people."}


@router.post("/{id}/events", response_model=PaymentOut, responses=refusals(404, 409))
@allows(Role.APP, Role.OPERATOR)
async def payment_event(parts: The, caller: By, id: str, event: PaymentEventIn) -> Response:
    """`paid` delivers the media, once, however often it is told, and also after `expired`: the money was taken.
    `refunded` stops what has not left. 409 with the state when the word comes too late."""
    told = PaymentState(event.status)
    return answer(await parts.transitions.payment(caller.org, _payment(id), told, event.reference, caller.who))


@router.post("/stripe", response_model=Heard, responses=only(400, 403, 404, 413, 415, 422, 500, 503))
async def stripe_event(
    parts: The,
    request: Request,
    event: Annotated[dict[str, Any], Body()],
    stripe_signature: Annotated[str, Header()] = "",
) -> Response:
    """Where Stripe posts its events, signed with `REPLIQUE_PAYMENTS__STRIPE_WEBHOOK_SECRET`; without that, 404."""
    if parts.stripe is None:
        raise NotFound("Stripe's events are not taken here")
    told = parts.stripe.read(await request.body(), stripe_signature)
    payment = None if told is None else await parts.transitions.payment_named(PaymentProvider.STRIPE, told.session)
    if told is None or payment is None:
        return answer(Heard(used=False))
    try:
        await parts.transitions.payment(None, payment, told.to, told.session, "stripe")
    except TooLate:
        # Told again it would be late again: Stripe must not repeat it for days.
        return answer(Heard(used=False))
    return answer(Heard(used=True))


@router.get("/done", response_class=Response, responses={200: _PAGE, **only(400, 413, 415, 422, 500)})
async def done() -> Response:
    """Where a payer is led afterwards."""
    return paying.thanks()


@router.get(
    "/{id}/page", response_class=Response, responses={200: _PAGE, **only(400, 403, 404, 413, 415, 422, 500, 503)}
)
async def read_page(parts: The, id: str, sig: str = "") -> Response:
    """The test page, where payments are only tried out (`REPLIQUE_PAYMENTS__PROVIDER`); elsewhere 404."""
    payment = _payment(id)
    await _pretending(parts).admit(payment, sig)
    return paying.test_page(await parts.payments.bill(payment))


@router.post(
    "/{id}/page", response_class=Response, responses={200: _PAGE, **only(400, 403, 404, 409, 413, 415, 422, 500, 503)}
)
async def pretend_to_pay(parts: The, id: str, sig: str = "") -> Response:
    """The button of the test page."""
    payment = _payment(id)
    await _pretending(parts).admit(payment, sig)
    await parts.payments.bill(payment)
    await parts.transitions.payment(None, payment, PaymentState.PAID, "test page", "test page")
    return paying.test_page(await parts.payments.bill(payment))


def _pretending(parts: Parts) -> PracticePage:
    if parts.page is None:
        raise NotFound("payments are real here: there is no test page")
    return parts.page


def _payment(reference: str) -> PaymentId:
    return PaymentId(known_number("pay", reference))
