"""What may be sold for how much, and what a provider's word changes."""

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.selling import bounds, exact, in_one, listed, minor_units, moves, offer_key, title, unasked, unsellable
from schemas.catalogue import Media, MediaType
from schemas.errors import TooLate
from schemas.groups import FxSettings
from schemas.money import Price
from schemas.payments import PaymentState, Ware
from schemas.resources import Prices


def a_ware(id: str, amount: str | None = "10.00", currency: str = "EUR", **changes: bool) -> Ware:
    price = None if amount is None else Price(Decimal(amount), currency)
    media = Media(id, MediaType.PHOTO, f"https://cdn.example/{id}", price=price)
    return Ware(media, changes.get("consented", True), bool(changes.get("bought")))


def eur(amount: str) -> Price:
    return Price(Decimal(amount), "EUR")


def test_the_listed_price_is_the_sum_rounded_to_what_can_be_paid() -> None:
    assert (listed([a_ware("a", "9.9950"), a_ware("b", "0.5")]), listed([a_ware("a", "500.4", "JPY")])) == (
        eur("10.50"),
        Price(Decimal(500), "JPY"),
    )


@pytest.mark.parametrize(
    ("currency", "rates", "total", "without"),
    [
        ("EUR", {}, "96.00", ("GBP",)),
        ("EUR", {"GBP": "0.80"}, "106.75", ()),
        ("USD", {"GBP": "0.80"}, "124.13", ()),
        ("GBP", {}, "10.00", ("EUR", "USD")),
    ],
)
def test_money_of_several_currencies_is_one_sum(
    currency: str, rates: dict[str, str], total: str, without: tuple[str, ...]
) -> None:
    fx = FxSettings(eur_per_usd=Decimal("0.86"), per_usd={of: Decimal(rate) for of, rate in rates.items()})
    spent = {"EUR": Decimal(10), "USD": Decimal(100), "GBP": Decimal(10)}

    found = in_one(spent, currency, fx)

    assert (f"{found[0]:.2f}", found[1]) == (total, without)


def test_floor_and_ceiling_are_whole_cents_inside_the_ratios() -> None:
    assert bounds(eur("9.99"), Prices(floor_ratio=0.5, ceiling_ratio=1.5)) == (eur("5.00"), eur("14.98"))
    assert bounds(eur("1.00"), Prices(floor_ratio=0)) == (eur("0.01"), eur("2.00"))


@pytest.mark.parametrize(
    ("asked", "sentence"),
    [
        (eur("5.00"), None),
        (eur("20.00"), None),
        (eur("4.99"), "4.99 EUR is not between 5.00 EUR and 20.00 EUR; the listed price is 10.00 EUR."),
        (eur("20.01"), "20.01 EUR is not between 5.00 EUR and 20.00 EUR; the listed price is 10.00 EUR."),
        (eur("7.125"), "A price in EUR has at most 2 decimals."),
        (Price(Decimal(8), "USD"), "These media are sold in EUR."),
    ],
)
def test_a_price_is_asked_within_floor_and_ceiling(asked: Price, sentence: str | None) -> None:
    assert unasked(asked, eur("10.00"), Prices()) == sentence


@pytest.mark.parametrize(
    ("ware", "sentence"),
    [
        (a_ware("b"), None),
        (None, "There is no media 'b' here. Use ids that get_media returned."),
        (a_ware("b", None), "The media 'b' is free, there is nothing to pay. Use send_image."),
        (
            a_ware("b", consented=False),
            "The media 'b' has no consent on record and may not be sold. Offer another one.",
        ),
        (a_ware("b", bought=True), "The contact has already bought the media 'b'. Offer another one."),
        (
            a_ware("b", "10.00", "USD"),
            "These media are priced in EUR and USD, a link has one currency. Offer them apart.",
        ),
    ],
)
def test_what_may_not_be_sold_is_said(ware: Ware | None, sentence: str | None) -> None:
    wares = {"a": a_ware("a")} | ({} if ware is None else {"b": ware})

    assert unsellable(["a", "b"], wares) == sentence


def test_an_offer_is_its_media_and_its_price_whatever_their_writing() -> None:
    same = {
        offer_key(["a", "b"], eur("10.00")),
        offer_key(["b", "a"], eur("10.0")),
        offer_key(["a", "b"], exact(eur("10"))),
    }

    assert len(same) == 1
    assert same.isdisjoint({offer_key(["a"], eur("10")), offer_key(["a", "b"], eur("11"))})


@given(st.sampled_from(["EUR", "JPY", "KWD"]), st.integers(1, 10**9))
def test_smallest_units_lose_nothing(currency: str, units: int) -> None:
    places = {"EUR": 2, "JPY": 0, "KWD": 3}[currency]

    assert minor_units(exact(Price(Decimal(units).scaleb(-places), currency))) == units


def test_the_payer_reads_whose_media_they_are_and_how_many() -> None:
    assert title("Maya", ["photo", "video", "photo"], "fr-CA") == "Maya: 2 photos, 1 vidéo"
    assert title("Maya", ["video"], "de") == "Maya: 1 video"


TABLE = {
    ("open", "paid"): True,
    ("expired", "paid"): True,
    ("paid", "paid"): False,
    ("refunded", "paid"): None,
    ("open", "expired"): True,
    ("expired", "expired"): False,
    ("paid", "expired"): None,
    ("refunded", "expired"): None,
    ("open", "refunded"): True,
    ("expired", "refunded"): True,
    ("paid", "refunded"): True,
    ("refunded", "refunded"): False,
}


@pytest.mark.parametrize(("pair", "expected"), TABLE.items(), ids=str)
def test_what_is_told_of_a_payment_moves_it_repeats_itself_or_comes_too_late(
    pair: tuple[str, str], expected: bool | None
) -> None:
    state, told = map(PaymentState, pair)

    if expected is None:
        with pytest.raises(TooLate) as late:
            moves(state, told)
        assert late.value.state == state
    else:
        assert moves(state, told) is expected
