"""Is anything lost, said twice, out of order or stuck, whatever interleaves? And is each rule needed for that?"""

import asyncio
import sys
from pathlib import Path

import pytest

from schemas.claims import Recorded
from schemas.decisions import Failure
from schemas.errors import Code
from schemas.http import Ingested
from tests.builders_storage import Storage, a_storage
from tests.mutants import NO_LOCK, NO_ORDER, NO_SUCCESSOR, Edit, mutant
from tests.stress import PERSONA, Stress, stress_settings
from workers.adapters.postgres.transitions import Transitions

SEEDS = [1, 2, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(3, 11))]


async def stressed(
    database_url: str, seed: int, seconds: float, kind: type[Transitions] = Transitions, index: bool = True
) -> Stress:
    async with a_storage(database_url, PERSONA, settings=stress_settings(), pool_size=15, kind=kind) as storage:
        if not index:
            await storage.rows("DROP INDEX one_bubble_out")
        stress = Stress(storage, seed)
        await stress.run(seconds)
        stress.errors = await stress.violations()
    sys.stdout.write(f"\nseed {seed}: {dict(sorted(stress.stats.items()))}, {len(stress.receiver.applied)} applied\n")
    return stress


@pytest.mark.parametrize("seed", SEEDS)
async def test_whatever_interleaves_nothing_is_lost_doubled_stale_or_stuck(database_url: str, seed: int) -> None:
    stress = await stressed(database_url, seed, seconds=5)

    assert stress.errors == []
    # Enough has happened for that to mean something, on however slow a machine.
    assert min(stress.stats["message"], stress.stats["claim"], len(stress.receiver.applied)) > 10


@pytest.mark.slow
@pytest.mark.parametrize(
    ("edits", "index", "complaint"),
    [
        pytest.param(NO_SUCCESSOR, True, "unanswered", id="no successor"),
        pytest.param(NO_ORDER, False, "out of order", id="no order"),
    ],
)
async def test_the_stress_notices_a_missing_rule(
    database_url: str, tmp_path: Path, edits: list[Edit], index: bool, complaint: str
) -> None:
    stress = await stressed(database_url, 1, 10, mutant(tmp_path, edits), index)

    assert [words for words in stress.errors if words.startswith(complaint)] != []


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
