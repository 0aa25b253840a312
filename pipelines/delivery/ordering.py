"""The order of the bubbles that have not left yet: dense, and the notice stays in front."""

from collections.abc import Sequence
from dataclasses import dataclass

from schemas.conversation import BubbleKind
from schemas.ids import CandidateId

Place = tuple[CandidateId, int]


@dataclass(frozen=True, slots=True)
class Waiting:
    """A bubble that has not left."""

    id: CandidateId
    kind: BubbleKind
    ordinal: int


def room(waiting: Sequence[Waiting], first: int) -> tuple[int, int]:
    """The lowest and the highest ordinal that a bubble may move to. `first` is the first that nothing has left with."""
    notices = sum(bubble.kind is BubbleKind.NOTICE for bubble in waiting)
    return first + notices, first + len(waiting) - 1


def place_of(waiting: Sequence[Waiting], first: int, bubble: CandidateId) -> int:
    return first + next(n for n, other in enumerate(waiting) if other.id == bubble)


def moved(waiting: Sequence[Waiting], first: int, bubble: CandidateId, to: int, parts: int = 1) -> list[Place]:
    """What gets another ordinal when `bubble` moves `to` an ordinal within its room and takes up `parts` of them."""
    rest = [other for other in waiting if other.id != bubble]
    own = [other for other in waiting if other.id == bubble]
    at = to - first
    return [*closed_up([*rest[:at], *own], first), *closed_up(rest[at:], to + parts)]


def closed_up(waiting: Sequence[Waiting], first: int) -> list[Place]:
    """What gets another ordinal so that `waiting` follow each other without a gap."""
    return [(bubble.id, first + n) for n, bubble in enumerate(waiting) if bubble.ordinal != first + n]
