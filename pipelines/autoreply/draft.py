"""What a run has made so far. Tools change it; nothing of it is real before the run is recorded."""

from dataclasses import dataclass, field
from datetime import datetime

from pipelines.autoreply.checks import LocalChecks
from schemas.conversation import BubbleKind
from schemas.decisions import Bubble


@dataclass(frozen=True, slots=True)
class LeftOnRead:
    reason: str | None


@dataclass(frozen=True, slots=True)
class Pause:
    until: datetime
    reason: str | None


@dataclass(slots=True)
class Draft:
    """`now` is the time of the claim."""

    checks: LocalChecks
    now: datetime
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
    def vocals(self) -> int:
        return sum(bubble.kind is BubbleKind.VOICE for bubble in self.bubbles)

    def empty(self) -> int:
        """Answers how many bubbles were dropped."""
        dropped = len(self.bubbles)
        self.bubbles.clear()
        return dropped
