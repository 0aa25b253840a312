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
THINKS_SECONDS = 3.0
"""Most runs are waiting for an answer when the database goes."""


def paid_twice(seen: Evidence) -> list[str]:
    """A call is named run.number.claim: the same number of the same run was asked under two claims."""
    asked = Counter(tuple(attempt.call.split(".")[:2]) for attempt in seen.attempts)
    return [f"call {number} of run {run} went out {times} times" for (run, number), times in asked.items() if times > 1]


def begun_again(seen: Evidence) -> list[str]:
    return [
        f"job {event['job_id']} was taken from a worker that lived"
        for event in seen.events
        if event["why"] == "reclaimed"
    ]


@pytest.mark.parametrize(
    ("kind", "seconds"),
    [
        pytest.param(Kind.POSTGRES_FROZEN, 30.0, marks=pytest.mark.slow),
        pytest.param(Kind.POSTGRES_CUT, 30.0, marks=pytest.mark.slow),
    ],
    ids=["frozen", "cut"],
)
@pytest.mark.timeout(300)
def test_no_run_is_paid_twice_when_the_database_comes_back(
    kind: Kind, seconds: float, say: Callable[[str], None], judged: Callable[[Result], None]
) -> None:
    with stage(latency=THINKS_SECONDS) as ground:
        load = Load(ground.stack, 1, CONVERSATIONS, 8, CALM)
        result = Show(ground, load, (Fault(6.0, kind, "postgres", seconds),), say).run()

    judged(result)
    assert [job["state"] for job in result.evidence.jobs if job["state"] not in ("sent", "superseded")] == []
    assert begun_again(result.evidence) == []
    assert paid_twice(result.evidence) == []
