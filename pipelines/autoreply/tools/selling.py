"""Offer media for money. The link is made after the control window; until then nothing has been offered."""

from decimal import Decimal
from typing import Annotated

from pydantic import BeforeValidator, Field, WithJsonSchema

from pipelines.agent.tools import Args, Done, Effect, Outcome, Refused, Tool
from pipelines.autoreply.draft import Draft
from pipelines.selling import exact, listed, unasked, unsellable
from pipelines.text import rendered
from schemas.conversation import BubbleKind
from schemas.decisions import Bubble
from schemas.money import Price
from schemas.payments import Ware

_NAMES = {"type": "array", "items": {"type": "string"}, "description": "Ids of paid media, as get_media gave them."}


def _plain(value: object) -> object:
    """JSON numbers are binary fractions: 12.1 is meant as it is written."""
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else value


class SendPaymentArgs(Args):
    """Queue one payment bubble: the contact gets a link, and the media once they have paid. The price is the sum of the
    listed prices; another one only for a deal that you negotiate. Never write a link yourself."""

    media_ids: Annotated[tuple[str, ...], Field(min_length=1, max_length=20), WithJsonSchema(_NAMES)]
    price: Annotated[
        # Bounds on the whole would be asked of null too, which has none.
        Annotated[Decimal, Field(gt=0, max_digits=12, decimal_places=4, allow_inf_nan=False)] | None,
        BeforeValidator(_plain),
        WithJsonSchema({"type": "string", "description": 'For all of them together, e.g. "12.50".'}),
    ] = None
    message: str | None = Field(None, description="What the contact reads beside the link.")


class SendPayment(Tool[SendPaymentArgs, Draft]):
    name = "send_payment"
    effect = Effect.DRAFT
    args = SendPaymentArgs

    async def call(self, args: SendPaymentArgs, state: Draft) -> Outcome:
        text = rendered(args.message or "").strip()
        if broken := _not_now(args.media_ids, text, state):
            return Refused(f"{broken} The offer was not queued.")
        wares = await state.wares(args.media_ids)
        if why := unsellable(args.media_ids, wares):
            return Refused(f"{why} The offer was not queued.")
        chosen = [wares[name] for name in args.media_ids]
        total = listed(chosen)
        price = total if args.price is None else Price(args.price, total.currency)
        if why := unasked(price, total, state.gallery.prices):
            return Refused(f"price: {why} Ask a price in between, or leave it out. The offer was not queued.")
        return _queued(chosen, exact(price), text, state)


def _not_now(names: tuple[str, ...], text: str, state: Draft) -> str | None:
    """What speaks against this bubble before anything is looked up."""
    if twice := next((name for n, name in enumerate(names) if name in names[:n]), None):
        return f"The media {twice!r} stands twice in media_ids. Name each once."
    if twice := next((name for name in names if name in state.offered), None):
        return f"The media {twice!r} is already offered in this reply. Leave it out, or call clear_messages first."
    if broken := state.checks.links_broken(state.links):
        return broken
    return state.checks.first_broken(text, state.texts) if text else state.checks.full(state.texts)


def _queued(wares: list[Ware], price: Price, text: str, state: Draft) -> Done:
    media = tuple(ware.media.ref for ware in wares)
    state.bubbles.append(Bubble(BubbleKind.PAYMENT, text, media, price))
    named = ", ".join(item.id for item in media)
    return Done(f"Queued as candidate {len(state.bubbles) - 1}: {named} for {price}.")
