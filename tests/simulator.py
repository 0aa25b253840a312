"""A running simulator for tests: real sockets, a free port, its own thread."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from workers.simulator import create_app, make_server
from workers.simulator.control import SimulatorControl
from workers.simulator.state import Simulator

START_SECONDS = 10.0


@dataclass(frozen=True)
class RunningSimulator:
    """`base_url` is what an SDK takes (no `/v1`); `state` is the simulator's own, for looking inside."""

    base_url: str
    state: Simulator

    def control(self) -> SimulatorControl:
        return SimulatorControl(self.base_url)


@contextmanager
def running_simulator(*, api_keys: tuple[str, ...] = (), latency: float = 0.0) -> Iterator[RunningSimulator]:
    """Serve until the block ends. No latency, and any key unless `api_keys` names the good ones."""
    app = create_app(api_keys=api_keys, latency=latency)
    server = make_server(app)
    thread = threading.Thread(target=server.run, name="simulator", daemon=True)
    thread.start()
    try:
        _wait_until(lambda: server.started, thread)
        port = server.servers[0].sockets[0].getsockname()[1]
        yield RunningSimulator(f"http://127.0.0.1:{port}", app.state.simulator)
    finally:
        # Clients may keep connections open; nothing of theirs is worth waiting for.
        server.should_exit = server.force_exit = True
        thread.join(START_SECONDS)


def _wait_until(condition: Callable[[], bool], thread: threading.Thread) -> None:
    deadline = time.monotonic() + START_SECONDS
    while not condition():
        if time.monotonic() > deadline or not thread.is_alive():
            raise RuntimeError("the simulator did not start")
        time.sleep(0.005)
