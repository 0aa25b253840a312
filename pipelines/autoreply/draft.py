"""What a run has made so far. Tools change it; nothing of it is real before the run is recorded."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from pipelines.autoreply.checks import LocalChecks
from pipelines.autoreply.gallery import KINDS, Gallery
from schemas.catalogue import Media
from schemas.conversation import BubbleKind
from schemas.decisions import Bubble
from schemas.memory import Found
from schemas.payments import Ware

Recall = Callable[[str, int], Awaitable[list[Found]]]
"""Looks a question up, for this conversation's persona and contact alone: at most so many passages."""
Wares = Callable[[Sequence[str]], Awaitable[Mapping[str, Ware]]]
"""Looks media up by their names, of this conversation's persona and for its contact alone. Raises `Unavailable`."""


async def nothing(names: Sequence[str]) -> Mapping[str, Ware]:
    """Where nothing is for sale."""
    return {}


@dataclass(frozen=True, slots=True)
class LeftOnRead:
    reason: str | None


@dataclass(frozen=True, slots=True)
class Pause:
    until: datetime
    reason: str | None


@dataclass(slots=True)
class Draft:
    """`now` is the time of the claim; `recall` None: nothing can be looked up."""

    checks: LocalChecks
    now: datetime
    recall: Recall | None = None
    gallery: Gallery = field(default_factory=Gallery)
    wares: Wares = nothing
    bubbles: list[Bubble] = field(default_factory=list)
    plan: str | None = None
    ending: LeftOnRead | Pause | None = None
    found: list[str] = field(default_factory=list)
    """What lookups answered: prices, links and numbers that the reply may name."""

    def learnt(self, answer: str) -> None:
        self.found.append(answer)

    @property
    def sendable(self) -> int:
        return len(self.bubbles)

    @property
    def ended(self) -> bool:
        return self.ending is not None

    @property
    def texts(self) -> list[str]:
        return [bubble.text for bubble in self.bubbles]

    @property
    def media(self) -> list[Media]:
        """Shown or sold by the queued bubbles, in their order, as far as a search found them."""
        shown = self.gallery.shown
        return [shown[ref.id] for bubble in self.bubbles for ref in bubble.media if ref.id in shown]

    @property
    def free(self) -> int:
        return sum(bubble.kind in KINDS.values() for bubble in self.bubbles)

    @property
    def vocals(self) -> int:
        return sum(bubble.kind is BubbleKind.VOICE for bubble in self.bubbles)

    @property
    def links(self) -> int:
        return sum(bubble.kind is BubbleKind.PAYMENT for bubble in self.bubbles)

    @property
    def offered(self) -> set[str]:
        """The media that this reply sells."""
        return {media.id for bubble in self.bubbles if bubble.kind is BubbleKind.PAYMENT for media in bubble.media}

    def empty(self) -> int:
        """Answers how many bubbles were dropped."""
        dropped = len(self.bubbles)
        self.bubbles.clear()
        return dropped
