"""Processes are killed, Redis is wiped, servers restart and hang, and every message still has exactly one outcome.

A seed makes one plan and one load; both are printed, so that a run which found something can be run again.
"""

from collections.abc import Callable

import pytest

from tests.chaos.load import Load
from tests.chaos.plan import FEW, LONG, SHORT, make_plan
from tests.chaos.show import Result, Show
from tests.chaos.stage import stage

SEEDS = (1, 2, 3, 4, 5)


@pytest.mark.timeout(180)
def test_twenty_five_conversations_through_kills_and_flushes(judged: Callable[[Result], None]) -> None:
    # Without chores: that of a killed worker is leased for over a minute. Slow, so that kills meet runs that think.
    with stage(FEW, latency=0.8, REPLIQUE_MEMORY__LEARN="false") as ground:
        judged(Show(ground, Load(ground.stack, 1, 25, 6), make_plan(1, 10, SHORT, FEW)).run())


@pytest.mark.slow
@pytest.mark.timeout(480)
@pytest.mark.parametrize("seed", SEEDS)
def test_five_hundred_conversations_through_everything(
    seed: int, say: Callable[[str], None], judged: Callable[[Result], None]
) -> None:
    with stage() as ground:
        load = Load(ground.stack, seed, 500, 90)
        judged(Show(ground, load, make_plan(seed, 100, LONG), say).run())
