"""Text that survives: cleaned, rendered for a chat, split where a reader pauses, compared as a reader sees it."""

from pipelines.text.blank import is_blank
from pipelines.text.clean import clean
from pipelines.text.colloquial import spoken, spoken_each
from pipelines.text.fold import fold, holds
from pipelines.text.graphemes import graphemes, head, length
from pipelines.text.language import KNOWN_LANGUAGES, clear_language
from pipelines.text.limits import LIMITS, Limit, Unit, fits_everywhere
from pipelines.text.markdown import rendered
from pipelines.text.split import split
from pipelines.text.storable import deeper_than, storable, storable_deep

__all__ = [
    "KNOWN_LANGUAGES",
    "LIMITS",
    "Limit",
    "Unit",
    "clean",
    "clear_language",
    "deeper_than",
    "fits_everywhere",
    "fold",
    "graphemes",
    "head",
    "holds",
    "is_blank",
    "length",
    "rendered",
    "split",
    "spoken",
    "spoken_each",
    "storable",
    "storable_deep",
]
