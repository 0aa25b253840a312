"""The running product for the end-to-end tests: started once in a run, on a database of its own.

Tests share it: each makes its own organisation, and aims what the model says by the marker of its conversation. A
module that needs other settings, or that counts what all conversations did, starts one of its own.
"""

from collections.abc import AsyncIterator, Iterator

import pytest

from tests import servers
from tests.simulator import RunningSimulator, running_simulator
from tests.stack import Stack, stack_on_a_database
from tests.upstream import Receiver, running_receiver
from workers.simulator.control import SimulatorControl


@pytest.fixture(scope="session")
def simulator() -> Iterator[RunningSimulator]:
    with running_simulator() as running:
        yield running


@pytest.fixture(scope="session")
def receiver() -> Iterator[Receiver]:
    with running_receiver() as running:
        yield running


@pytest.fixture(scope="session")
def stack(
    postgres_server: str, database_template: str, redis_server: str, simulator: RunningSimulator, receiver: Receiver
) -> Iterator[Stack]:
    # the last logical database: the tests that take one each start counting at 0
    redis_url = servers.with_redis_database(redis_server, 15)
    with stack_on_a_database(postgres_server, database_template, redis_url, simulator.base_url, receiver) as running:
        yield running


@pytest.fixture
async def model(simulator: RunningSimulator) -> AsyncIterator[SimulatorControl]:
    """What the model says and saw. Tests share it and aim their scripts by the conversation's marker."""
    async with simulator.control() as control:
        yield control
