"""What one run may do with the persona's photos and videos: what it is shown of them, and what it may send for free."""

from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

from pipelines.text import storable
from schemas.agent import AgentParameters
from schemas.catalogue import Had, Media, MediaHistory, MediaSearch, MediaType, PriceRange, Shelf
from schemas.conversation import BubbleKind, Case
from schemas.money import Price
from schemas.resources import Prices

Look = Callable[[MediaSearch], Awaitable[list[Media]]]
"""Looks media up, for this conversation's persona and contact alone, and keeps what was shown."""

KINDS = {MediaType.PHOTO: BubbleKind.IMAGE, MediaType.VIDEO: BubbleKind.VIDEO}
"""As what a media is delivered."""

_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}
_TASTES = 500
_CENT = Decimal("0.01")
MOST_OF_LAST = Decimal("1.5")
"""The dearest offer that fits, in last purchases."""


@dataclass(frozen=True, slots=True)
class FreeLimit:
    """At most `most` free media over the sliding `window`; without one, over the whole history."""

    most: int = 4
    window: timedelta | None = timedelta(hours=24)
    told: str = "24h"

    @classmethod
    def of(cls, limits: AgentParameters) -> "FreeLimit":
        window = limits.max_free_media_window
        return cls(limits.max_free_media, None if window is None else _duration(window), window or "")

    def left(self, received: Iterable[datetime], queued: int, now: datetime) -> int:
        """How many more may be queued: `received` are the times at which free media left, `queued` counts those of
        this reply and those that wait in others."""
        counted = sum(self.window is None or at > now - self.window for at in received)
        return max(0, self.most - counted - queued)


@dataclass(slots=True)
class Gallery:
    """`look` None: there is nothing to look up. `shown` is what this run and earlier ones of the conversation saw."""

    look: Look | None = None
    history: MediaHistory = field(default_factory=MediaHistory)
    limit: FreeLimit = field(default_factory=FreeLimit)
    continuity: bool = True
    tastes: str = ""
    prices: Prices = field(default_factory=Prices)
    shown: dict[str, Media] = field(default_factory=dict)

    @classmethod
    def of(cls, case: Case, limits: AgentParameters, look: Look | None) -> "Gallery":
        return cls(
            look,
            case.media,
            FreeLimit.of(limits),
            limits.prefer_album_continuity,
            _tastes(case.contact.profile),
            case.persona.spec.prices,
            {media.id: media for media in case.media.shown},
        )

    def search(self, shelf: Shelf, query: str | None, limit: int, queued: Sequence[Media]) -> MediaSearch:
        album = self._album(shelf, queued) if self.continuity else None
        return MediaSearch(
            shelf=shelf,
            limit=limit,
            query=query,
            tastes=self.tastes,
            queued=tuple(media.id for media in queued),
            album=album,
            opens=self.continuity and shelf is Shelf.PAID,
            prices=self._fitting if shelf is Shelf.PAID else None,
        )

    @property
    def last_purchase(self) -> Price | None:
        return next((fact.price for fact in self.history.of(Had.BOUGHT) if fact.price is not None), None)

    @property
    def _fitting(self) -> PriceRange | None:
        last = self.last_purchase
        return None if last is None else PriceRange(last.amount, last.amount * MOST_OF_LAST, last.currency)

    def free_left(self, queued: int, now: datetime) -> int:
        received = [fact.at for fact in self.history.of(Had.RECEIVED)]
        return self.limit.left(received, self.history.waiting + queued, now)

    def bought(self, media: str) -> bool:
        return any(fact.media == media for fact in self.history.of(Had.BOUGHT))

    def suggested(self, price: Price) -> Price:
        """What to ask for a media: its own price, moved to between the last purchase and one and a half times that,
        but never out of what the persona allows."""
        last = self.last_purchase
        if last is None or last.currency != price.currency:
            return price
        wanted = min(max(price.amount, last.amount), last.amount * MOST_OF_LAST)
        lowest = price.amount * Decimal(str(self.prices.floor_ratio))
        highest = price.amount * Decimal(str(self.prices.ceiling_ratio))
        return Price(min(max(wanted, lowest), highest).quantize(_CENT), price.currency)

    def _album(self, shelf: Shelf, queued: Sequence[Media]) -> str | None:
        """Of the last media of that shelf: of this reply, else the newest that this contact had."""
        paid = shelf is Shelf.PAID
        for media in reversed(queued):
            if (media.price is not None) is paid:
                return media.album
        had = self.history.of(Had.BOUGHT, Had.OFFERED) if paid else self.history.of(Had.RECEIVED)
        return max(had, key=lambda fact: fact.at).album if had else None


def _duration(text: str) -> timedelta:
    """`24h`, as settings write it."""
    return timedelta(**{_UNITS[text[-1]]: int(text[:-1])})


def _tastes(profile: Any) -> str:
    """The words of a profile, without its numbers: what a contact likes is among them, what they spent is no taste."""
    return storable(" ".join(_words(profile)))[:_TASTES]


def _words(value: Any) -> Iterable[str]:
    if isinstance(value, str):
        return [value] if any(character.isalpha() for character in value) else []
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [word for item in inner for word in _words(item)]
