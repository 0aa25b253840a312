"""The prompt cache: what a request reads, writes and pays in full, by the provider's published rules.

A marked block writes one entry for the prefix that ends there, if the prefix reaches the model's minimum, and
reads the longest entry among itself and the 19 positions before it. Entries live from the start of the
request that wrote or read them, and can be read once the answer of the request that wrote them has begun.
"""

import hashlib
from dataclasses import dataclass, field

from workers.simulator.models import find_model
from workers.simulator.prompt import Block, Prompt, Tier
from workers.simulator.refusals import Refused

LOOK_BACK_POSITIONS = 20
MAX_BREAKPOINTS = 4
LIFETIME = {"5m": 300.0, "1h": 3_600.0}  # seconds
PRUNE_ABOVE = 100_000

Key = tuple[str, bytes]


@dataclass(slots=True)
class Entry:
    lifetime: float
    expires: float
    readable: bool = False


@dataclass(frozen=True, slots=True)
class Charge:
    """Input tokens of one request by what they cost; `written` waits for the answer to begin."""

    full: int
    read: int
    write_5m: int
    write_1h: int
    written: tuple[Key, ...] = field(default=(), repr=False)

    @property
    def total(self) -> int:
        return self.full + self.read + self.write_5m + self.write_1h


def breakpoints(prompt: Prompt) -> dict[int, str]:
    """Index of each marked block and its TTL, the automatic one included, in prompt order.

    Raises:
        Refused: more than four, a longer TTL after a shorter one, or an automatic marker with another TTL.
    """
    marks = {i: block.ttl for i, block in enumerate(prompt.blocks) if block.ttl is not None}
    if prompt.automatic_ttl is not None:
        _add_automatic(prompt, marks, prompt.automatic_ttl)
    if len(marks) > MAX_BREAKPOINTS:
        raise Refused(f"A maximum of 4 blocks with cache_control may be provided. Found {len(marks)}.")
    marks = dict(sorted(marks.items()))
    ttls = list(marks.values())
    if "5m" in ttls and "1h" in ttls[ttls.index("5m") :]:
        raise Refused(
            "cache_control.ttl: a ttl='1h' cache_control block must not come after a ttl='5m' cache_control "
            "block. Note that blocks are processed in the following order: `tools`, `system`, `messages`."
        )
    return marks


def _add_automatic(prompt: Prompt, marks: dict[int, str], ttl: str) -> None:
    last = next((i for i in reversed(range(len(prompt.blocks))) if prompt.blocks[i].markable), None)
    if last is None:
        return
    if marks.get(last, ttl) != ttl:
        raise Refused("cache_control: the top-level ttl conflicts with the ttl of the last block's cache_control.")
    marks[last] = ttl


class PromptCache:
    """Entries per workspace. Times are seconds of the simulator's clock."""

    def __init__(self) -> None:
        self._entries: dict[Key, Entry] = {}

    def clear(self) -> None:
        self._entries.clear()

    def begin(self, prompt: Prompt, now: float, workspace: str = "") -> Charge:
        """Bill a request that starts at `now`; its new entries stay unreadable until `answer_began`."""
        marks = breakpoints(prompt)
        keys = [(workspace, prefix) for prefix in _prefixes(prompt)]
        sums = _running_totals(prompt.blocks)
        hit = self._longest_hit(prompt.blocks, marks, keys, now)
        minimum = _minimum(prompt.model)
        live = [i for i in marks if sums[i] >= minimum]
        if hit is not None:
            self._refresh([keys[hit], *(keys[i] for i in live if i < hit)], now)
        written = self._write({keys[i]: marks[i] for i in live}, now)

        read = sums[hit] if hit is not None else 0
        last = max([read, *(sums[i] for i in live)])
        last_1h = max([read, *(sums[i] for i in live if marks[i] == "1h")])
        total = sums[-1] if sums else 0
        return Charge(total - last, read, last - last_1h, last_1h - read, written)

    def answer_began(self, charge: Charge) -> None:
        for key in charge.written:
            if key in self._entries:
                self._entries[key].readable = True

    def _alive(self, key: Key, now: float) -> Entry | None:
        entry = self._entries.get(key)
        return entry if entry is not None and entry.readable and entry.expires > now else None

    def _longest_hit(self, blocks: tuple[Block, ...], marks: dict[int, str], keys: list[Key], now: float) -> int | None:
        for mark in sorted(marks, reverse=True):
            position, run = 0, None
            for i in range(mark, -1, -1):
                # A row of tool calls, or of their results, counts as one position.
                if blocks[i].run is None or blocks[i].run != run:
                    position += 1
                run = blocks[i].run
                if position > LOOK_BACK_POSITIONS:
                    break
                if self._alive(keys[i], now):
                    return i
        return None

    def _refresh(self, keys: list[Key], now: float) -> None:
        for key in keys:
            if entry := self._alive(key, now):
                entry.expires = max(entry.expires, now + entry.lifetime)

    def _write(self, ttls: dict[Key, str], now: float) -> tuple[Key, ...]:
        if len(self._entries) > PRUNE_ABOVE:
            self._entries = {key: entry for key, entry in self._entries.items() if entry.expires > now}
        new = tuple(key for key in ttls if not self._alive(key, now))
        for key in new:
            self._entries[key] = Entry(LIFETIME[ttls[key]], now + LIFETIME[ttls[key]])
        return new


def _prefixes(prompt: Prompt) -> list[bytes]:
    """The hash of the prefix that ends at each block; a tier's settings enter before its first block."""
    chain = hashlib.sha256(prompt.salts[Tier.TOOLS].encode())
    waiting = [Tier.SYSTEM, Tier.MESSAGES]
    prefixes = []
    for block in prompt.blocks:
        while waiting and block.tier in waiting:
            chain.update(b"\0" + prompt.salts[waiting.pop(0)].encode() + b"\0")
        chain.update(block.digest)
        prefixes.append(chain.digest())
    return prefixes


def _running_totals(blocks: tuple[Block, ...]) -> list[int]:
    totals, so_far = [], 0
    for block in blocks:
        so_far += block.tokens
        totals.append(so_far)
    return totals


def _minimum(model: str) -> int:
    known = find_model(model)
    return known.cache_minimum if known else 1_024
