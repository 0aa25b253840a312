"""Is anything lost, said twice, out of order or stuck, whatever interleaves? And is each rule needed for that?"""

import asyncio
import random
import sys
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import pytest
from psycopg.errors import UniqueViolation

from schemas.claims import Posting, Recorded
from schemas.decisions import Failure
from schemas.errors import Code
from schemas.http import Ingested
from schemas.jobs import DelayedSend
from tests.builders_storage import Storage, a_reply, a_storage
from tests.mutants import (
    ERASED_ANYWAY,
    NO_LOCK,
    NO_ORDER,
    NO_SPLIT,
    NO_SUCCESSOR,
    PAID_AGAIN,
    Edit,
    mutant,
)
from tests.stress import ACTORS, PERSONA, Receiver, Stress, stress_settings
from tests.stress_operators import ACTS, FEW_ACTS
from tests.stress_shop import FEW
from workers.adapters.postgres.transitions import Transitions

SEEDS = [1, 2, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(3, 11))]

SHOP_SEEDS = [1, 2, 3, *SEEDS[3:]]

MET = ("worker died", "spoken", "posted Unknown", "posted Refused")
"""Without these a seed proves little: deaths, voices, receivers that hang or refuse."""
MET_OF_OPERATORS = ("approve", "cancel", "hold", "release", "edit", "drop")
EDITS = {"edit": 8, "approve": 3, "resume": 2}
FEW_WRITE = ACTORS | {"contact": 1, "operator": 1}
MET_OF_MONEY = ("linked", "link failed", "paid", "erased", "AR-562")
SHOPPING = ACTORS | {"operator": 3, "payer": 3, "eraser": 1}
MANY_OPERATORS = ACTORS | {"contact": 1, "operator": 8}


def a_stressed_storage(
    database_url: str, kind: type[Transitions] = Transitions, **persona: Any
) -> AbstractAsyncContextManager[Storage]:
    return a_storage(database_url, PERSONA | persona, settings=stress_settings(), pool_size=15, kind=kind)


@pytest.mark.parametrize("seed", SEEDS)
async def test_whatever_interleaves_nothing_is_lost_doubled_stale_or_stuck(database_url: str, seed: int) -> None:
    async with a_stressed_storage(database_url) as storage:
        stress = Stress(storage, seed)
        await stress.run(5, met=MET)

        applied = len(stress.receiver.applied)
        sys.stdout.write(f"\nseed {seed}: {dict(sorted(stress.stats.items()))}, {applied} applied\n")
        assert await stress.violations() == []
        # Enough has happened for that to mean something, on however slow a machine.
        assert min(stress.stats["message"], stress.stats["claim"], applied) > 4
        assert [what for what in MET if not stress.stats[what]] == []


@pytest.mark.parametrize("seed", SEEDS)
async def test_whatever_operators_do_to_replies_their_word_holds(database_url: str, seed: int) -> None:
    async with a_stressed_storage(database_url, control_window_seconds=0.4) as storage:
        stress = Stress(storage, seed, conversations=12, actors=MANY_OPERATORS)
        await stress.run(5, met=MET_OF_OPERATORS)

        acts = {act: stress.stats[act] for act in ACTS}
        sys.stdout.write(f"\nseed {seed}: {acts}, {len(stress.receiver.applied)} applied\n")
        assert await stress.violations() == []
        assert sum(acts.values()) > 4


@pytest.mark.parametrize("seed", SEEDS)
async def test_nobody_is_written_to_three_times_in_a_row_or_after_they_have_written(
    database_url: str, seed: int
) -> None:
    async with a_stressed_storage(database_url) as storage:
        stress = Stress(storage, seed, actors=FEW_WRITE, acts=FEW_ACTS, silent=0.7)
        await stress.run(5)

        ends = await storage.rows(
            "SELECT state, count(*) AS n FROM jobs WHERE kind = 'follow_up' GROUP BY 1 ORDER BY 1"
        )
        sys.stdout.write(f"\nseed {seed}: follow-ups {[(row['state'], row['n']) for row in ends]}\n")
        assert await stress.violations() == []
        assert stress.stats["follow-up"] > 0


@pytest.mark.parametrize("seed", SHOP_SEEDS)
async def test_what_was_paid_comes_once_and_nothing_comes_to_the_erased(database_url: str, seed: int) -> None:
    async with a_stressed_storage(database_url) as storage:
        stress = Stress(storage, seed, conversations=12, actors=SHOPPING, selling=0.6)
        await stress.shop.open()
        await stress.run(6, met=MET_OF_MONEY)

        seen = {what: stress.stats[what] for what in MET_OF_MONEY}
        sys.stdout.write(f"\nseed {seed}: {seen}, {len(stress.receiver.applied)} applied\n")
        assert await stress.violations() == []
        assert [what for what, times in seen.items() if not times] == []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("broken", "noticed"),
    [(PAID_AGAIN, "not delivered once"), (ERASED_ANYWAY, "left after erasure")],
    ids=["paid-again", "erased-anyway"],
)
async def test_the_stress_notices_what_money_and_erasure_rest_on(
    database_url: str, tmp_path: Path, broken: list[Edit], noticed: str
) -> None:
    async with a_stressed_storage(database_url, mutant(tmp_path, broken)) as storage:
        stress = Stress(storage, 1, conversations=12, actors=SHOPPING, selling=0.9)
        await stress.shop.open(FEW)
        await stress.run(25, rest=0)

        assert [words for words in await stress.violations() if words.startswith(noticed)] != []


@pytest.mark.slow
async def test_the_stress_notices_that_no_successor_is_made(database_url: str, tmp_path: Path) -> None:
    async with a_stressed_storage(database_url, mutant(tmp_path, NO_SUCCESSOR)) as storage:
        stress = Stress(storage, 1, acts=FEW_ACTS)
        await stress.run(45, rest=0, patient=False)

        assert [words for words in stress.errors if words.startswith("unanswered")] != []


@pytest.mark.slow
async def test_the_stress_notices_that_order_is_not_kept(database_url: str, tmp_path: Path) -> None:
    async with a_stressed_storage(database_url, mutant(tmp_path, NO_ORDER)) as storage:
        await storage.rows("DROP INDEX one_bubble_out")
        stress = Stress(storage, 1, receiver=Receiver(random.Random(1), slow=0.6, long=1), acts=FEW_ACTS)
        await stress.run(45, rest=0, patient=False)

        assert [words for words in stress.errors if words.startswith("out of order")] != []


@pytest.mark.slow
async def test_the_stress_notices_that_a_voice_is_not_looked_at_again_when_it_has_been_spoken(
    database_url: str, tmp_path: Path
) -> None:
    async with a_stressed_storage(database_url, mutant(tmp_path, NO_SPLIT)) as storage:
        stress = Stress(storage, 1, conversations=12, acts=EDITS, actors=MANY_OPERATORS)
        await stress.run(20, rest=0)

        assert [words for words in await stress.violations() if words.startswith("spoken otherwise")] != []


async def second_bubble_while_the_first_hangs(storage: Storage) -> Posting | None:
    """The contact writes while a bubble is being posted; the next reply, thought at once, wants to leave."""
    await storage.hold("un")
    await storage.send()
    await storage.say("m-2")
    job = await storage.job()
    await storage.rows("UPDATE deliveries SET state = 'waiting', ambiguous = true, due_at = clock_timestamp()")
    claim = await storage.claim()
    await storage.transitions.record(claim, a_reply("deux"))
    return await storage.transitions.claim_send(DelayedSend(conversation=1, job=job["id"]))


async def test_a_bubble_waits_for_the_one_ahead(database_url: str) -> None:
    async with a_storage(database_url) as storage:
        assert await second_bubble_while_the_first_hangs(storage) is None


async def test_without_the_look_ahead_the_order_index_still_refuses(database_url: str, tmp_path: Path) -> None:
    async with a_storage(database_url, kind=mutant(tmp_path, NO_ORDER)) as storage:
        with pytest.raises(UniqueViolation, match="one_bubble_out"):
            await second_bubble_while_the_first_hangs(storage)


async def test_without_look_and_index_two_bubbles_would_be_out(database_url: str, tmp_path: Path) -> None:
    async with a_storage(database_url, kind=mutant(tmp_path, NO_ORDER)) as storage:
        await storage.rows("DROP INDEX one_bubble_out")

        assert await second_bubble_while_the_first_hangs(storage) is not None


async def message_against_failure(storage: Storage) -> tuple[Ingested, Recorded, list[tuple[str, int]]]:
    """A message is being stored while the run that has not seen it ends. Stopped in the middle by its own id, which
    somebody else has taken and then gives up."""
    await storage.say()
    claim = await storage.claim()
    async with storage.database.engine.connect() as other:
        await other.exec_driver_sql(
            "INSERT INTO messages (org_id, conversation_id, name, author, position, text)"
            f" SELECT {storage.org}, id, 'm-2', 'contact', 99, '' FROM conversations"
        )
        saying = asyncio.create_task(storage.say("m-2"))
        await asyncio.sleep(0.3)
        recording = asyncio.create_task(
            storage.transitions.record(claim, Failure(Code.NO_CANDIDATE, "nothing to send"))
        )
        await asyncio.sleep(0.3)
        await other.rollback()
    said, recorded = await saying, await recording
    rows = await storage.rows("SELECT state, inbound_seq FROM jobs ORDER BY id")
    return said, recorded, [(row["state"], row["inbound_seq"]) for row in rows]


async def test_a_run_that_ends_while_a_message_is_stored_waits_and_sees_it(database_url: str) -> None:
    async with a_storage(database_url) as storage:
        said, _, jobs = await message_against_failure(storage)

        assert (said.job, jobs) == ("job_1", [("queued", 2)])


async def test_without_the_conversations_lock_that_message_would_be_lost(database_url: str, tmp_path: Path) -> None:
    async with a_storage(database_url, kind=mutant(tmp_path, NO_LOCK)) as storage:
        said, _, jobs = await message_against_failure(storage)

        assert (said.job, jobs) == ("job_1", [("failed", 1)])
