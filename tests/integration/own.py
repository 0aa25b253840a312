"""A simulator for one module: where faults of the provider, or all that it heard, are the matter of the test."""

from collections.abc import Iterator

import pytest

from tests.simulator import RunningSimulator, running_simulator


@pytest.fixture(scope="module")
def simulator() -> Iterator[RunningSimulator]:
    with running_simulator() as running:
        yield running
