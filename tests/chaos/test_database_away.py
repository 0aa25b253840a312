"""PostgreSQL is away for longer than leases last, while models think: no run is begun anew, and none is paid twice."""

from collections import Counter
from collections.abc import Callable

import pytest

from tests.chaos.evidence import Evidence
from tests.chaos.load import CALM, Load
from tests.chaos.plan import Fault, Kind
from tests.chaos.show import Result, Show
from tests.chaos.stage import stage

CONVERSATIONS = 60
AWAY_SECONDS = 30.0
THINKS_SECONDS = 3.0
"""Most runs are waiting for an answer when the database goes."""


def paid_twice(seen: Evidence) -> list[str]:
    """A call is named run.number.claim: the same number of the same run was asked under two claims."""
    asked = Counter(tuple(attempt.call.split(".")[:2]) for attempt in seen.attempts)
    return [f"call {number} of run {run} went out {times} times" for (run, number), times in asked.items() if times > 1]


def begun_again(seen: Evidence) -> list[str]:
    """A cut may take the word that a claim was committed: nobody works on that job, so another worker has to."""
    return [f"job {event['job_id']} was taken from its worker" for event in seen.events if event["why"] == "reclaimed"]


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("kind", [Kind.POSTGRES_FROZEN, Kind.POSTGRES_CUT], ids=["frozen", "cut"])
def test_no_run_is_paid_twice_when_the_database_comes_back(
    kind: Kind, say: Callable[[str], None], judged: Callable[[Result], None]
) -> None:
    with stage(latency=THINKS_SECONDS, REPLIQUE_MEMORY__LEARN="false") as ground:
        load = Load(ground.stack, 1, CONVERSATIONS, 8, CALM)
        result = Show(ground, load, (Fault(6.0, kind, "postgres", AWAY_SECONDS),), say).run()

    seen = result.evidence
    say(f"jobs taken from their worker: {len(begun_again(seen))}, calls paid twice: {len(paid_twice(seen))}")
    judged(result)
    assert {job["state"] for job in seen.jobs} <= {"sent", "superseded"}
    assert paid_twice(seen) == []
    assert kind is Kind.POSTGRES_CUT or begun_again(seen) == []
