"""The estimate's cache is the simulator's, which works on the bytes of real requests."""

import random

import pytest

from pipelines.llm.prefix_cache import Piece, PrefixCache
from schemas.llm import Ttl, Usage
from workers.simulator.cache import PromptCache
from workers.simulator.prompt import Block, Prompt, Tier

HAIKU = "claude-haiku-4-5"
MINIMUM = 4_096


def seen_by_the_simulator(cache: PromptCache, pieces: list[Piece], now: float) -> Usage:
    blocks = tuple(
        Block(Tier.MESSAGES, piece.name.encode(), piece.tokens, piece.mark, run=None, markable=True) for piece in pieces
    )
    charge = cache.begin(Prompt(HAIKU, blocks, dict.fromkeys(Tier, ""), None), now)
    cache.answer_began(charge)
    return Usage(charge.full, charge.read, charge.write_5m, charge.write_1h)


def a_request(chance: random.Random) -> list[Piece]:
    """The beginning of one of a few stories, marked in up to four places, the longer lives first."""
    story = chance.randrange(3)
    pieces = [
        Piece(f"{min(n, 3)}-{story if n > 2 else 0}-{n}", 300 + 97 * (n % 7)) for n in range(chance.randint(1, 60))
    ]
    places = sorted(chance.sample(range(len(pieces)), min(chance.randint(0, 4), len(pieces))))
    turns = chance.randint(0, len(places))
    for order, place in enumerate(places):
        ttl = Ttl.ONE_HOUR if order < turns else Ttl.FIVE_MINUTES
        pieces[place] = Piece(pieces[place].name, pieces[place].tokens, ttl)
    return pieces


@pytest.mark.parametrize("seed", range(40))
def test_it_reads_and_writes_what_the_simulator_does(seed: int) -> None:
    chance, now = random.Random(seed), 0.0
    ours, theirs = PrefixCache(MINIMUM), PromptCache()
    read = 0
    for _ in range(60):
        now += chance.choice([1, 20, 200, 290, 310, 1200, 3500, 3700])
        request = a_request(chance)
        usage = ours.ask(request, now)
        assert usage == seen_by_the_simulator(theirs, request, now)
        read += usage.cache_read

    assert read > 0
