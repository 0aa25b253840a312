"""What a run has made so far. Tools change it; nothing of it is real before the run is recorded."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import datetime

from pipelines.autoreply.checks import LocalChecks
from schemas.conversation import BubbleKind
from schemas.decisions import Bubble
from schemas.memory import Found

Recall = Callable[[str, int], Awaitable[list[Found]]]
"""Looks a question up, for this conversation's persona and contact alone: at most so many passages."""


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
    bubbles: list[Bubble] = field(default_factory=list)
    plan: str | None = None
    ending: LeftOnRead | Pause | None = None

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
