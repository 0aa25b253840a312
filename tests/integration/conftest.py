"""The running product for the end-to-end tests: started once per module, on a database of its own."""

from collections.abc import AsyncIterator, Iterator

import pytest

from tests import servers
from tests.simulator import RunningSimulator, running_simulator
from tests.stack import Stack, running_stack
from tests.upstream import Receiver, running_receiver
from workers.simulator.control import SimulatorControl


@pytest.fixture(scope="module")
def simulator() -> Iterator[RunningSimulator]:
    with running_simulator() as running:
        yield running


@pytest.fixture(scope="module")
def receiver() -> Iterator[Receiver]:
    with running_receiver() as running:
        yield running


@pytest.fixture(scope="module")
def stack(
    postgres_server: str, database_template: str, redis_server: str, simulator: RunningSimulator, receiver: Receiver
) -> Iterator[Stack]:
    # the last logical database: the tests that take one each start counting at 0
    redis_url = servers.with_redis_database(redis_server, 15)
    servers.flush(redis_url)
    with (
        servers.database(postgres_server, database_template) as database_url,
        running_stack(database_url, redis_url, simulator.base_url, receiver) as running,
    ):
        yield running


@pytest.fixture
async def model(simulator: RunningSimulator) -> AsyncIterator[SimulatorControl]:
    """What the model says and saw. Tests share it and aim their scripts by the conversation's marker."""
    async with simulator.control() as control:
        yield control
