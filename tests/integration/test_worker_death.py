"""A worker is killed in the middle of a run: the run goes on elsewhere, and no finished model call is paid twice."""

import json
import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from tests import servers
from tests.scripts import bubbles, call, done, heard
from tests.simulator import RunningSimulator
from tests.stack import COMMAND, Stack, clean_environment, free_port, wait_until
from tests.upstream import Receiver
from workers.simulator.control import SimulatorControl


@pytest.fixture(scope="module")
def up(
    postgres_server: str, database_template: str, redis_server: str, simulator: RunningSimulator, receiver: Receiver
) -> Iterator[tuple[Stack, psutil.Process]]:
    """`replique up`, on the test run's servers, talking to the test's own simulator."""
    redis_url = servers.with_redis_database(redis_server, 14)
    servers.flush(redis_url)
    port = free_port()
    with (
        servers.database(postgres_server, database_template) as database_url,
        tempfile.TemporaryDirectory(prefix="replique-up-") as folder,
    ):
        environment = clean_environment(
            DATABASE_URL=database_url,
            REDIS_URL=redis_url,
            ANTHROPIC_BASE_URL=simulator.base_url,
            ANTHROPIC_API_KEY="sk-simulated",
            REPLIQUE_BOOTSTRAP_KEY="rk_admin_for_the_end_to_end_tests",
        )
        with (Path(folder) / "up.log").open("wb") as log:
            process = subprocess.Popen(
                [*COMMAND, "up", "--port", str(port)], cwd=folder, env=environment, stdout=log, stderr=log
            )
        stack = Stack(f"http://127.0.0.1:{port}", receiver, environment, Path(folder))
        try:
            wait_until(lambda: "stop\tCtrl-C" in (Path(folder) / "up.log").read_text(), 90, "up to be ready")
            yield stack, psutil.Process(process.pid)
            process.send_signal(signal.SIGTERM)
            assert process.wait(40) == 0
        except BaseException:
            print((Path(folder) / "up.log").read_text(errors="replace")[-3000:])
            raise
        finally:
            process.kill()
            process.wait(5)


def thinkers(up: psutil.Process) -> list[psutil.Process]:
    """The processes that think: forked by the child of `up` whose command line names the reply queue."""
    parents = [child for child in up.children() if "reply,background" in child.cmdline()]
    assert len(parents) == 1, [child.cmdline() for child in up.children()]
    return parents[0].children()


async def test_killed_between_iterations_the_run_goes_on_within_five_seconds(
    up: tuple[Stack, psutil.Process], model: SimulatorControl
) -> None:
    stack, process = up
    talk = stack.organization()
    await model.script(
        {"calls": [call("set_plan", plan="un")]},
        {"calls": [call("set_plan", plan="deux")], "delay": 1.5},
        bubbles("Toujours là."),
        done(),
        match=talk.marker,
        task="reply",
    )
    job = talk.say("salut")["job"]

    for _ in range(400):
        if len(await heard(model, talk.marker)) >= 1 and talk.job(job)["state"] == "running":
            break
        time.sleep(0.02)
    time.sleep(0.4)  # the second call is out: its answer will find nobody
    for worker in thinkers(process):
        worker.send_signal(signal.SIGKILL)
    killed = time.monotonic()
    calls = len(await heard(model, talk.marker))
    while len(await heard(model, talk.marker)) == calls and time.monotonic() < killed + 15:
        time.sleep(0.02)
    went_on = time.monotonic() - killed
    ended = talk.ended(job, seconds=30)

    print(f"went on {went_on:.2f} s after the kill")
    assert went_on < 5
    assert talk.texts() == ["Toujours là."]
    # four answers were scripted; the one that was out when the worker died is asked again
    assert len(await heard(model, talk.marker)) <= 4 + 1
    assert ended["usage"]["calls"] <= 4 + 1 + 1
    assert [request.refused for request in await heard(model, talk.marker) if request.refused] == []


async def test_up_stops_everything_it_started(up: tuple[Stack, psutil.Process]) -> None:
    stack, process = up
    children = process.children(recursive=True)
    assert len(children) >= 4
    connection = json.loads((stack.logs / ".replique/connection.json").read_text())
    assert connection["url"] == stack.url
    assert os.stat(stack.logs / ".replique/connection.json").st_mode & 0o777 == 0o600
