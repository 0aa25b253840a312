"""The real SDK against a simulator that listens on a free port."""

from collections.abc import AsyncIterator, Iterator

import pytest
from anthropic import AsyncAnthropic

from tests.simulator import RunningSimulator, running_simulator
from workers.simulator.control import SimulatorControl


@pytest.fixture(scope="module")
def simulator() -> Iterator[RunningSimulator]:
    with running_simulator() as running:
        yield running


@pytest.fixture
async def control(simulator: RunningSimulator) -> AsyncIterator[SimulatorControl]:
    """The simulator's control, everything reset before the test."""
    async with simulator.control() as control:
        await control.reset()
        yield control


@pytest.fixture
async def client(simulator: RunningSimulator, control: SimulatorControl) -> AsyncIterator[AsyncAnthropic]:
    async with AsyncAnthropic(
        api_key="test-key", base_url=simulator.base_url, max_retries=0, timeout=5.0
    ) as client:
        yield client
