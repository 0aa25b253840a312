"""What twenty turns cost under several layouts of the prompt: `python tests/bench/prompt.py`. Prints tables.

The requests are the product's own, the bill is that of the simulator's cache; no socket is opened.
"""

import asyncio
import sys
from datetime import timedelta
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from schemas.llm import Task
from tests.layouts import TURNS, Compared, billed, compared, recorded
from tests.talk import Bill

HEAD = """
| layout | tokens in | read % | full-price equivalent | × own tokens | × the same messages uncached, sliding |
|---|---|---|---|---|---|"""


def row(name: str, bill: Bill, base: Bill) -> str:
    own, same = bill.total / bill.equivalent, base.equivalent / bill.equivalent
    return f"| {name} | {bill.total:,} | {bill.read_share:.1%} | {bill.equivalent:,.0f} | {own:.2f} | {same:.2f} |"


def table(title: str, found: Compared) -> None:
    base = found.sliding_uncached
    print(f"\n**{title}**: {found.below_automatic:.1%} below system + automatic + sliding{HEAD}")
    for name, bill in (
        ("no cache, sliding 15", base),
        ("no cache, stepped 15 → 30", found.own_uncached),
        ("system mark, sliding", found.system),
        ("system and automatic mark, sliding, best lifetimes", found.automatic),
        ("our marks, sliding", found.ours_sliding),
        ("**ours**", found.ours),
    ):
        print(row(name, bill, base))
    for name, bill in (("review", found.review), ("auxiliary (summaries)", found.auxiliary)):
        costs = f"{bill.total:,} | {bill.read_share:.1%} | {bill.equivalent:,.0f}"
        print(f"| beside it: {name}, {bill.calls} calls | {costs} | | |")


async def main() -> None:
    for minutes in (1, 10):
        for brisk in (True, False):
            kept = "5m" if brisk else "1h"
            gap = timedelta(minutes=minutes)
            table(f"{minutes} min, kept {kept}", await compared(gap, brisk=brisk))
            table(f"{minutes} min, kept {kept}, texts ten times as long", await compared(gap, brisk=brisk, longer=10))
    await lifetimes()
    for prefix in (6_000, 20_000):
        table(f"1 min, kept 5m, prefix {prefix:,}", await compared(timedelta(minutes=1), brisk=True, prefix=prefix))


async def lifetimes() -> None:
    """Where an hour becomes cheaper than five minutes."""
    print("\n| gaps of ten minutes among those of one | kept 5m | kept 1h |\n|---|---|---|")
    for every in (0, 19, 10, 7, 5, 3):
        costs = []
        for brisk in (True, False):
            found = await recorded(timedelta(minutes=1), brisk=brisk, slow_every=every)
            costs.append(billed(found.of(Task.REPLY)).equivalent)
        share = (TURNS - 1) // every / (TURNS - 1) if every else 0
        print(f"| {share:.0%} | {costs[0]:,.0f} | {costs[1]:,.0f} |")


if __name__ == "__main__":
    asyncio.run(main())
