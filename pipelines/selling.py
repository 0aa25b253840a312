"""What may be sold to a contact and for how much, and what a word from the provider changes."""

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_UP, Decimal

from schemas.errors import TooLate
from schemas.groups import FxSettings
from schemas.money import Price
from schemas.payments import PaymentState, Ware
from schemas.resources import Prices

# ISO 4217: the currencies whose smallest unit is not a hundredth.
_NO_DECIMALS = re.compile("BIF|CLP|DJF|GNF|ISK|JPY|KMF|KRW|PYG|RWF|UGX|VND|VUV|XAF|XOF|XPF")
_THREE_DECIMALS = re.compile("BHD|IQD|JOD|KWD|LYD|OMR|TND")


def decimals(currency: str) -> int:
    if _NO_DECIMALS.fullmatch(currency):
        return 0
    return 3 if _THREE_DECIMALS.fullmatch(currency) else 2


def smallest_unit(currency: str) -> Decimal:
    return Decimal(1).scaleb(-decimals(currency))


def listed(wares: Sequence[Ware]) -> Price:
    """What the media cost together. All of them have a price, in one currency."""
    prices = [ware.price for ware in wares if ware.price is not None]
    total = sum((price.amount for price in prices), Decimal(0))
    currency = prices[0].currency
    return Price(total.quantize(smallest_unit(currency), ROUND_HALF_UP), currency)


def bounds(total: Price, prices: Prices) -> tuple[Price, Price]:
    """The least and the most that may be asked instead, in whole smallest units."""
    unit = smallest_unit(total.currency)
    floor = total.amount * Decimal(str(prices.floor_ratio))
    ceiling = total.amount * Decimal(str(prices.ceiling_ratio))
    return (
        Price(max(floor.quantize(unit, ROUND_CEILING), unit), total.currency),
        Price(ceiling.quantize(unit, ROUND_FLOOR), total.currency),
    )


def in_one(spent: Mapping[str, Decimal], currency: str, fx: FxSettings) -> tuple[Decimal, tuple[str, ...]]:
    """Sums by currency as one sum in `currency`, and the currencies that are not in it, since no rate is known of them
    or of `currency`."""
    wanted, total, without = fx.rate(currency), Decimal(0), []
    for of, amount in spent.items():
        rate = fx.rate(of)
        if of == currency:
            total += amount
        elif wanted is None or rate is None:
            without.append(of)
        else:
            total += amount / rate * wanted
    return total, tuple(sorted(without))


def unsellable(media: Sequence[str], wares: Mapping[str, Ware]) -> str | None:
    """Why these may not be sold to the contact, or None. A sentence with what to do instead."""
    for name in media:
        ware = wares.get(name)
        if ware is None:
            return f"There is no media {name!r} here. Use ids that get_media returned."
        if ware.price is None:
            return f"The media {name!r} is free, there is nothing to pay. Use send_image."
        if not ware.consented:
            return f"The media {name!r} has no consent on record and may not be sold. Offer another one."
        if ware.bought:
            return f"The contact has already bought the media {name!r}. Offer another one."
    currencies = sorted({ware.price.currency for ware in map(wares.__getitem__, media) if ware.price is not None})
    if len(currencies) > 1:
        return f"These media are priced in {' and '.join(currencies)}, a link has one currency. Offer them apart."
    return None


def unasked(price: Price, total: Price, prices: Prices) -> str | None:
    """Why this price may not be asked for media that cost `total`, or None."""
    if price.currency != total.currency:
        return f"These media are sold in {total.currency}."
    if price.amount != price.amount.quantize(smallest_unit(price.currency)):
        return f"A price in {price.currency} has at most {decimals(price.currency)} decimals."
    floor, ceiling = bounds(total, prices)
    if floor.amount <= price.amount <= ceiling.amount:
        return None
    return f"{price} is not between {floor} and {ceiling}; the listed price is {total}."


def exact(price: Price) -> Price:
    """Written out to the smallest unit: 12.5 EUR are 12.50 EUR."""
    return Price(price.amount.quantize(smallest_unit(price.currency)), price.currency)


def offer_key(media: Sequence[str], price: Price) -> str:
    """The same for the same media at the same price, in whatever order: 64 hex digits."""
    said = json.dumps([sorted(media), str(price.amount.normalize()), price.currency])
    return hashlib.sha256(said.encode()).hexdigest()


def minor_units(price: Price) -> int:
    """As providers count: 12.50 EUR are 1250."""
    return int(price.amount.scaleb(decimals(price.currency)))


_WORDS = {"fr": ("photo", "photos", "vidéo", "vidéos"), "en": ("photo", "photos", "video", "videos")}


def title(persona: str, types: Sequence[str], language: str) -> str:
    """What the payer reads: `Maya: 2 photos, 1 vidéo`."""
    photo, photos, video, videos = _WORDS.get(language.split("-")[0], _WORDS["en"])
    counts = ((types.count("photo"), photo, photos), (types.count("video"), video, videos))
    return f"{persona}: " + ", ".join(f"{n} {one if n == 1 else many}" for n, one, many in counts if n)


_MOVES: dict[PaymentState, frozenset[PaymentState]] = {
    # Money that was taken is answered with what was bought, however late the word of it comes.
    PaymentState.PAID: frozenset({PaymentState.OPEN, PaymentState.EXPIRED}),
    PaymentState.EXPIRED: frozenset({PaymentState.OPEN}),
    PaymentState.REFUNDED: frozenset({PaymentState.OPEN, PaymentState.EXPIRED, PaymentState.PAID}),
}


def moves(state: PaymentState, told: PaymentState) -> bool:
    """Whether the word `told` moves a payment that is in `state`; False: it says so already. Raises TooLate."""
    if state is told:
        return False
    if state not in _MOVES[told]:
        raise TooLate(state.value)
    return True
