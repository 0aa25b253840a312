"""The AI never says that it is human; where a person may take over, it does not play the machine either.

Looks at candidates only, asks no model, and cannot be switched off.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import takewhile
from re import Match

from pipelines.autoreply import claims
from pipelines.text import spoken
from schemas.conversation import Author, BubbleKind, Turn
from schemas.resources import Disclosure

REACH = 3
"""So many of our bubbles before a text may hold the beginning of its sentence."""


@dataclass(frozen=True, slots=True)
class Break:
    """`candidate` counts the bubbles from 0; `rule` is a token for people and machines."""

    candidate: int
    rule: str


def first_break(texts: Sequence[str], mode: str, before: Sequence[str] = ()) -> Break | None:
    """The first candidate that claims to be human, or, in mode `handover`, that admits to be an AI.

    Each is read alone and with those around it: « je suis pas » / « un bot » is one sentence in two bubbles. `before`:
    what left since the contact last spoke.
    """
    if (n := _said(texts, before, claims.claim)) is not None:
        return Break(n, "claims_to_be_human")
    if mode == "handover" and (n := _said(texts, before, claims.admission)) is not None:
        return Break(n, "admits_to_be_an_ai")
    return None


def claims_to_be_human(text: str) -> bool:
    return claims.claim(spoken(text)) is not None


def unanswered(turns: Sequence[Turn]) -> list[str]:
    """What the AI has said since anybody else last spoke, oldest first."""
    ours = takewhile(lambda turn: turn.author is Author.AI, reversed(turns))
    return [turn.text for turn in ours if turn.kind is not BubbleKind.NOTICE][::-1]


def mode_of(disclosure: Disclosure) -> str:
    """Personas of this pipeline hand identity questions to a person unless told otherwise."""
    return disclosure.mode or "handover"


def _said(texts: Sequence[str], before: Sequence[str], says: Callable[[str], Match[str] | None]) -> int | None:
    """The candidate in which it is said, or ends."""
    ours = [spoken(text) for text in texts]
    alone = next((n for n, text in enumerate(ours) if says(text) is not None), None)
    if alone is not None:
        return alone
    run = [text for said in before[-REACH:] if (text := spoken(said))]
    for n, text in enumerate(ours):
        if not text:
            continue
        run.append(text)
        # What goes on over bubbles is no longer than a sentence: the ones just before are enough.
        if len(run) > 1 and says(" ".join(run[-REACH - 1 :])) is not None:
            return n
    return None
