"""Text that survives: cleaned, rendered for a chat, split where a reader pauses, compared as a reader sees it."""

from pipelines.delivery.text.clean import clean
from pipelines.delivery.text.fold import fold, holds
from pipelines.delivery.text.graphemes import graphemes, head, length
from pipelines.delivery.text.limits import LIMITS, Channel, Limit, Unit
from pipelines.delivery.text.markdown import rendered
from pipelines.delivery.text.split import split

__all__ = [
    "LIMITS",
    "Channel",
    "Limit",
    "Unit",
    "clean",
    "fold",
    "graphemes",
    "head",
    "holds",
    "length",
    "rendered",
    "split",
]
