"""One organisation's flood does not come before another's messages: told by the order of claims, not by the time."""

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import psycopg
import pytest

from tests import servers
from tests.simulator import running_simulator
from tests.stack import Stack, Talk, stack_on_a_database, wait_until
from tests.upstream import SECRET, Receiver

FLOOD, MESSAGES = 300, 10
CAP = 2
"""A quarter of the worker's threads: what an organisation may have in flight."""
THREADS = 8
THINK_SECONDS = 0.15

QUIET_SECONDS = 0.3
"""As `Stack.provision` sets it: a job is due so long after its message."""

# Of each of the small organisation's jobs: how many of the flood's were claimed between its due time and its own claim.
OVERTAKEN = f"""
WITH claimed AS (
  SELECT e.org_id, e.at, j.created_at + make_interval(secs => {QUIET_SECONDS}) AS due_at
  FROM job_events e JOIN jobs j ON j.id = e.job_id WHERE e.from_state = 'queued' AND e.to_state = 'running'
)
SELECT (SELECT count(*) FROM claimed f
        WHERE f.org_id <> small.org_id AND f.at > small.due_at AND f.at < small.at) AS before
FROM claimed small JOIN organizations o ON o.id = small.org_id
WHERE o.name = %s
"""


@dataclass
class Ground:
    stack: Stack
    database_url: str

    def rows(self, statement: str, *values: object) -> list[tuple[Any, ...]]:
        with psycopg.connect(self.database_url) as connection:
            return connection.execute(statement.encode(), values).fetchall()


@pytest.fixture
def ground(postgres_server: str, database_template: str, redis_server: str, receiver: Receiver) -> Iterator[Ground]:
    redis_url = servers.with_redis_database(redis_server, 11)
    with (
        running_simulator(latency=THINK_SECONDS) as model,
        stack_on_a_database(
            postgres_server,
            database_template,
            redis_url,
            model.base_url,
            receiver,
            REPLIQUE_WORKER__THREADS=str(THREADS),
        ) as stack,
    ):
        yield Ground(stack, stack.database_url)


@pytest.mark.timeout(120)
def test_who_writes_after_a_flood_of_another_organisation_does_not_wait_for_it(ground: Ground) -> None:
    flooding, small = (an_organization(ground.stack) for _ in range(2))
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda talk: talk.say("coucou"), [flooding.another() for _ in range(FLOOD)]))
        talks = [small.another() for _ in range(MESSAGES)]
        for talk in talks:
            talk.say("coucou")
            time.sleep(0.1)

    wait_until(lambda: all(talk.texts() for talk in talks) or None, 60, "every message to be answered")
    before = sorted(row[0] for row in ground.rows(OVERTAKEN, small.org))
    (waiting,) = ground.rows(
        "SELECT count(*) FROM jobs j JOIN organizations o ON o.id = j.org_id WHERE o.name = %s AND j.state = 'queued'",
        flooding.org,
    )
    print(f"{before} of the flood's jobs were claimed first; {waiting[0]} of them still wait")
    assert waiting[0] > FLOOD / 2, "the flood was there all the time"
    assert len(before) == MESSAGES
    # Its own cap makes the last of ten wait for the first; while it does, as many of the flood's are claimed.
    assert before[0] <= 2 * CAP
    assert before[-1] <= 2 * CAP + 2 * MESSAGES


def an_organization(stack: Stack) -> Talk:
    talk = stack.organization()
    webhook = {"url": stack.receiver.url, "secret": SECRET}
    organization = {"kind": "Organization", "name": talk.org, "webhook": webhook, "limits": {"in_flight": CAP}}
    talk.call("POST", "/v1/apply", json={"resources": [organization]}, status=200)
    return talk
