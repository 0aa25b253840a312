"""A text too long for the channel becomes several bubbles when the reply is decided: people see what will leave.

Each part is a bubble like any other: it has its own place, pause and webhook id, and can be edited, dropped, recalled.
"""

from collections.abc import Sequence
from dataclasses import replace

from pipelines.agent.trace import Trace
from pipelines.text import LIMITS, split
from schemas.channels import Channel
from schemas.conversation import BubbleKind
from schemas.decisions import Bubble


def parted(bubbles: Sequence[Bubble], channel: Channel, trace: Trace) -> tuple[Bubble, ...]:
    """In order. What is spoken is heard, not read: the channel's limit does not bind it."""
    parts: list[Bubble] = []
    for n, bubble in enumerate(bubbles):
        texts = split(bubble.text, LIMITS[channel]) if bubble.kind is BubbleKind.TEXT else [bubble.text]
        if len(texts) > 1:
            trace.note(f"candidate {n} became {len(texts)} bubbles: {channel} takes {LIMITS[channel]} at once")
        parts += [replace(bubble, text=text) for text in texts]
    return tuple(parts)
