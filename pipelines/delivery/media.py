"""Whether a photo or video may still leave: asked again when its turn has come."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Checked:
    """A media of a waiting bubble, as it stands now. `there` is false when it was deleted, or is another persona's."""

    id: int
    name: str
    url: str
    type: str
    there: bool
    consented: bool
    priced: bool
    bought: bool


def told(media: Sequence[Checked]) -> list[dict[str, Any]]:
    """As the receiver is told of them."""
    return [{"id": item.name, "url": item.url, "type": item.type} for item in media]


def first_fault(media: Sequence[Checked], *, paid: bool) -> str | None:
    """Why the bubble must not leave, for a person to read. `paid`: it delivers what was bought."""
    for item in media:
        if not item.there:
            return f"the media {item.name!r} is gone"
        if not item.consented:
            return f"the media {item.name!r} has no consent record"
        if not paid and item.bought:
            return f"the media {item.name!r} was bought by this contact meanwhile"
        if not paid and item.priced:
            return f"the media {item.name!r} is for sale now"
    return None
