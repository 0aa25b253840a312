"""send_payment: what is queued, and the exact words of each refusal."""

from collections.abc import Mapping, Sequence
from decimal import Decimal

import pytest

from pipelines.agent.tools import Done, Outcome, Refused
from pipelines.autoreply.checks import LocalChecks
from pipelines.autoreply.draft import Draft
from pipelines.autoreply.tools.selling import SendPayment
from schemas.catalogue import Media, MediaType
from schemas.conversation import BubbleKind
from schemas.decisions import Bubble
from schemas.media import MediaRef
from schemas.money import Price
from schemas.payments import Ware
from schemas.resources import PersonaLimits
from tests.builders import NOON


def a_ware(name: str, kind: str, price: str | None, currency: str = "EUR", bought: bool = False) -> Ware:
    cost = None if price is None else Price(Decimal(price), currency)
    return Ware(Media(name, MediaType(kind), f"https://cdn.example/{name}", price=cost), True, bought)


SHELF = {
    ware.media.id: ware
    for ware in (
        a_ware("v-1", "video", "10.00"),
        a_ware("p-2", "photo", "2.50"),
        a_ware("p-usd", "photo", "3.00", "USD"),
        a_ware("p-free", "photo", None),
        a_ware("v-old", "video", "8.00", bought=True),
    )
}


async def shelf(names: Sequence[str]) -> Mapping[str, Ware]:
    return {name: SHELF[name] for name in names if name in SHELF}


def a_draft(links_today: int = 0, **limits: object) -> Draft:
    checks = LocalChecks(PersonaLimits(**limits), links_today=links_today)  # type: ignore[arg-type]
    return Draft(checks, NOON, wares=shelf)


async def offer(draft: Draft, *media: str, **args: object) -> Outcome:
    tool = SendPayment()
    read = tool.read({"media_ids": list(media), **args})
    return read if isinstance(read, Refused) else await tool.call(read, draft)


def ref(name: str) -> MediaRef:
    return SHELF[name].media.ref


async def test_the_price_is_the_sum_of_the_medias() -> None:
    draft = a_draft()

    outcome = await offer(draft, "v-1", "p-2", message="Rien que pour **toi**")

    assert outcome == Done("Queued as candidate 0: v-1, p-2 for 12.50 EUR.")
    assert draft.bubbles == [
        Bubble(BubbleKind.PAYMENT, "Rien que pour toi", (ref("v-1"), ref("p-2")), Price(Decimal("12.50"), "EUR"))
    ]


@pytest.mark.parametrize("price", ["7.5", 7.5, "7.50"])
async def test_another_price_is_taken_as_it_is_written(price: object) -> None:
    draft = a_draft()

    await offer(draft, "v-1", price=price)

    assert draft.bubbles == [Bubble(BubbleKind.PAYMENT, "", (ref("v-1"),), Price(Decimal("7.50"), "EUR"))]


UNQUEUED = "The offer was not queued."
REFUSALS = [
    (("nope",), {}, f"There is no media 'nope' here. Use ids that get_media returned. {UNQUEUED}"),
    (("p-free",), {}, f"The media 'p-free' is free, there is nothing to pay. Use send_image. {UNQUEUED}"),
    (("v-old",), {}, f"The contact has already bought the media 'v-old'. Offer another one. {UNQUEUED}"),
    (
        ("v-1", "p-usd"),
        {},
        f"These media are priced in EUR and USD, a link has one currency. Offer them apart. {UNQUEUED}",
    ),
    (("v-1", "v-1"), {}, f"The media 'v-1' stands twice in media_ids. Name each once. {UNQUEUED}"),
    (
        ("v-1",),
        {"price": "4.99"},
        "price: 4.99 EUR is not between 5.00 EUR and 20.00 EUR; the listed price is 10.00 EUR. "
        f"Ask a price in between, or leave it out. {UNQUEUED}",
    ),
    (
        ("v-1",),
        {"price": "6.123"},
        f"price: A price in EUR has at most 2 decimals. Ask a price in between, or leave it out. {UNQUEUED}",
    ),
    (("v-1",), {"message": "spam !"}, f"The word 'spam' is banned here. Say it another way. {UNQUEUED}"),
    (
        (),
        {},
        "media_ids: Tuple should have at least 1 item after validation, not 0. "
        "Correct the arguments and call send_payment again.",
    ),
    (
        ("v-1",),
        {"price": "-3"},
        "price: Input should be greater than 0. Correct the arguments and call send_payment again.",
    ),
]


@pytest.mark.parametrize(("media", "args", "sentence"), REFUSALS, ids=lambda value: str(value)[:30])
async def test_a_refusal_says_what_was_wrong_and_what_to_do(
    media: tuple[str, ...], args: dict[str, object], sentence: str
) -> None:
    draft = a_draft(banned_words=["spam"])

    assert (await offer(draft, *media, **args), draft.bubbles) == (Refused(sentence), [])


async def test_a_media_is_offered_once_in_a_reply() -> None:
    draft = a_draft()
    await offer(draft, "v-1")

    assert await offer(draft, "p-2", "v-1") == Refused(
        f"The media 'v-1' is already offered in this reply. Leave it out, or call clear_messages first. {UNQUEUED}"
    )


async def test_links_of_the_day_and_of_this_reply_count_together() -> None:
    draft = a_draft(links_today=1, links_per_day=2)
    await offer(draft, "v-1")

    assert await offer(draft, "p-2") == Refused(
        f"2 payment links a day are the most for one contact, and that is reached. Reply without one. {UNQUEUED}"
    )


async def test_an_offer_without_words_takes_a_place_in_the_reply_too() -> None:
    draft = a_draft(max_bubbles=1)
    await offer(draft, "v-1")

    assert await offer(draft, "p-2") == Refused(
        "1 bubbles are queued, the most a reply may hold. End your turn, or call clear_messages first. " + UNQUEUED
    )


async def test_null_as_the_price_is_none() -> None:
    draft = a_draft()

    assert isinstance(await offer(draft, "v-1", price=None), Done)
    assert draft.bubbles[0].price == Price(Decimal("10.00"), "EUR")
