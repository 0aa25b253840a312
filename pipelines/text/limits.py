"""How long a text a channel takes, and what it counts."""

from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType

from pipelines.text.graphemes import length
from schemas.channels import Channel

_SMALLEST = 4
"""A code point has up to four bytes: below that, some text could not be sent at all."""


class Unit(StrEnum):
    GRAPHEME = "characters"
    CODE_POINT = "code points"
    UTF16 = "UTF-16 units"
    BYTE = "bytes"


@dataclass(frozen=True, slots=True)
class Limit:
    """At most `most` units, at least 4. Raises ValueError for less."""

    most: int
    unit: Unit = Unit.UTF16

    def __post_init__(self) -> None:
        if self.most < _SMALLEST:
            raise ValueError(f"a limit of {self.most}; at least {_SMALLEST}, so that any character fits")

    def __str__(self) -> str:
        return f"{self.most} {self.unit.value}"

    def size(self, text: str) -> int:
        """The length of `text` as the channel counts it. Lone surrogates count as what `clean` makes of them."""
        match self.unit:
            case Unit.GRAPHEME:
                return length(text)
            case Unit.CODE_POINT:
                return len(text)
            case Unit.UTF16:
                return len(text) + sum(char > "\uffff" for char in text)
            case Unit.BYTE:
                return len(text.encode("utf-8", "surrogatepass"))


# The webhook's receiver posts on to a platform we do not know. 4096 is what the two largest take, and UTF-16 units are
# the strictest of the usual ways to count characters: what fits by them fits by code points and by graphemes too.
LIMITS = MappingProxyType(
    {
        Channel.WEBHOOK: Limit(4096),
        Channel.WHATSAPP: Limit(4096),
        Channel.TELEGRAM: Limit(4096),
        Channel.MESSENGER: Limit(2000),
        Channel.INSTAGRAM: Limit(1000, Unit.BYTE),
    }
)


def fits_everywhere(text: str) -> bool:
    """Whether every channel takes it in one piece."""
    return all(limit.size(text) <= limit.most for limit in LIMITS.values())
