"""What a provider's prompt cache makes of marked requests, in tokens: the published rules, for estimates.

A mark writes one entry for the prefix that ends there, where that reaches the model's minimum, and reads the longest
entry among its own and the 19 positions before it. An entry lives from the start of the request that wrote or read it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import accumulate

from schemas.llm import Ttl, Usage

LOOK_BACK = 20
LIFETIME = {Ttl.FIVE_MINUTES: 300.0, Ttl.ONE_HOUR: 3_600.0}
"""Seconds."""


@dataclass(frozen=True, slots=True)
class Piece:
    """One block of a request. Pieces with the same name have the same bytes."""

    name: str
    tokens: int
    mark: Ttl | None = None


@dataclass(slots=True)
class PrefixCache:
    """`minimum`: tokens. Times are seconds of any one clock, and never go back."""

    minimum: int
    _entries: dict[int, tuple[Ttl, float]] = field(default_factory=dict)

    def ask(self, pieces: Sequence[Piece], now: float) -> Usage:
        """The input side of one request's usage."""
        prefixes = [0]
        for piece in pieces:
            prefixes.append(hash((prefixes[-1], piece.name)))
        sums = list(accumulate((piece.tokens for piece in pieces), initial=0))
        marks = [end for end, piece in enumerate(pieces, 1) if piece.mark is not None and sums[end] >= self.minimum]
        hit = max((found for end in marks if (found := self._hit(prefixes, end, now))), default=0)
        for end in {hit, *marks} - {0}:
            self._keep(prefixes[end], pieces[end - 1].mark, now)
        written = [end for end in marks if end > hit]
        last = sums[max(written, default=hit)]
        long = sums[max((end for end in written if pieces[end - 1].mark is Ttl.ONE_HOUR), default=hit)]
        return Usage(sums[-1] - last, sums[hit], last - long, long - sums[hit])

    def _hit(self, prefixes: Sequence[int], mark: int, now: float) -> int:
        """The longest prefix that this mark finds; 0: none."""
        for end in range(mark, max(mark - LOOK_BACK, 0), -1):
            entry = self._entries.get(prefixes[end])
            if entry is not None and entry[1] > now:
                return end
        return 0

    def _keep(self, prefix: int, ttl: Ttl | None, now: float) -> None:
        known = self._entries.get(prefix)
        kept = known[0] if known is not None and known[1] > now else ttl
        if kept is not None:
            self._entries[prefix] = (kept, now + LIFETIME[kept])
