"""What a strategy does to the tools of a run: which it may not use and why, and which its reply must have used."""

from collections.abc import Iterable, Sequence, Set

from schemas.conversation import BubbleKind
from schemas.decisions import Bubble
from schemas.strategy import Resolved

_THINGS = {
    "clear_messages": "clearing the queue is",
    "conversation_pause": "pauses are",
    "get_media": "media are",
    "leave_on_read": "leaving on read is",
    "search_rag": "searches of the memory are",
    "send_image": "images are",
    "send_message": "text messages are",
    "send_payment": "payments are",
    "send_vocal": "voice messages are",
    "set_plan": "plans are",
}
_BUBBLES = {
    "send_message": {BubbleKind.TEXT},
    "send_vocal": {BubbleKind.VOICE},
    "send_image": {BubbleKind.IMAGE, BubbleKind.VIDEO},
    "send_payment": {BubbleKind.PAYMENT},
}


def disabled(strategy: Resolved) -> dict[str, str]:
    """By tool why it may not be used: no rule is named, since the model might tell."""
    return {tool: f"{_THINGS[tool]} disabled by the strategy for this reply" for tool in strategy.disabled}


def lacking(strategy: Resolved, bubbles: Iterable[Bubble], used: Set[str]) -> list[str]:
    """The required tools that this reply has not used. One that makes a bubble counts while such a bubble is there."""
    kinds = {bubble.kind for bubble in bubbles}
    return [tool for tool in strategy.required if not (_BUBBLES[tool] & kinds if tool in _BUBBLES else tool in used)]


def reminder(tools: Sequence[str]) -> str | None:
    if not tools:
        return None
    return (
        f"[Notice] Your turn ended, and the strategy for this reply asks for more: use {', '.join(tools)} as well, "
        "then end your turn. What is queued stays queued."
    )
