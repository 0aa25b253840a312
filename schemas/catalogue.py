"""Photos and videos of a persona: what they are, what a contact had of them, and how they are looked for."""

from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from enum import StrEnum

from schemas.ids import ContactId, ConversationId, OrgId, PersonaId
from schemas.media import MediaRef
from schemas.money import Price


class MediaType(StrEnum):
    PHOTO = "photo"
    VIDEO = "video"


class Shelf(StrEnum):
    """What a search is made in."""

    FREE = "free"
    PAID = "paid"


class Had(StrEnum):
    """What became of a media between a persona and a contact. RECEIVED: it left as a free one. OFFERED: a link to it
    left. BOUGHT: it was paid for."""

    RECEIVED = "received"
    OFFERED = "offered"
    BOUGHT = "bought"


@dataclass(frozen=True, slots=True)
class Media:
    """`id` is the upstream app's; `album` the name of its album. Without `price` it is free."""

    id: str
    type: MediaType
    url: str
    album: str | None = None
    price: Price | None = None
    description: str = ""
    tags: tuple[str, ...] = ()
    received: bool = False
    """This contact has had it for free."""

    @property
    def ref(self) -> MediaRef:
        return MediaRef(self.id, self.url, self.type.value)


@dataclass(frozen=True, slots=True)
class MediaFact:
    """One media that this contact had. `price` is what was asked or paid for it."""

    what: Had
    media: str
    at: datetime
    album: str | None = None
    description: str = ""
    price: Price | None = None


@dataclass(frozen=True, slots=True)
class MediaHistory:
    """What this contact had of this persona, the newest 100 of each kind, newest first; and what `get_media` has
    shown in this conversation, the newest 100. `waiting`: free ones that wait in this contact's other replies."""

    facts: tuple[MediaFact, ...] = ()
    shown: tuple[Media, ...] = ()
    waiting: int = 0

    def of(self, *kinds: Had) -> list[MediaFact]:
        """Newest first."""
        return [fact for fact in self.facts if fact.what in kinds]


@dataclass(frozen=True, slots=True)
class Viewer:
    """In whose name something is looked for. It comes from the run, never from the model's arguments."""

    org: OrgId
    persona: PersonaId
    contact: ContactId
    conversation: ConversationId


@dataclass(frozen=True, slots=True)
class PriceRange:
    low: Decimal
    high: Decimal
    currency: str


@dataclass(frozen=True, slots=True)
class MediaSearch:
    """What is looked for. `tastes`: what is known of the contact's likes, in words. `queued`: media of this reply.

    Of what is for sale, `prices` come first, then what is nearest to them; without any, the cheapest third. `album`
    is to be gone on with; `opens`: where none is, albums of which the contact has seen least come first.
    """

    shelf: Shelf
    limit: int
    query: str | None = None
    tastes: str = ""
    queued: tuple[str, ...] = ()
    album: str | None = None
    opens: bool = False
    prices: PriceRange | None = None
