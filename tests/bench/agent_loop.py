"""What a run of four calls costs our loop, loops written by hand, and frameworks: processor time, on the simulator.

`python -m tests.bench.agent_loop [--runs N] [--repetitions N] [--json] [--plot FILE.svg]`. Each loop lives in a process
of its own, the simulator in another, and they take turns of a few runs, so that all meet the same load. Prints tables,
asserts nothing. The frameworks take part after `make bench-deps`.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2

from tests.bench.contenders.work import CALLS, MARK, TURNS
from tests.bench.report import Report, Table, bars, machine, save
from tests.stack import free_port, wait_until

ROOT = Path(__file__).resolve().parents[2]
PEERS = ROOT / ".venv-bench" / "bin" / "python"
TURN = 10
"""Runs before the next loop has its turn."""
WARM_UP = 20

SHOWN = {
    "bodies": "SDK, raw bodies",
    "parsed": "SDK, its own classes",
    "ours": "Replique",
    "runner": "SDK's tool runner",
    "langgraph": "LangGraph",
    "pydantic_ai": "pydantic-ai",
}
FRAMEWORKS = ("runner", "pydantic_ai", "langgraph")
BASE = "bodies"
"""What ratios are told against: the leanest loop on the SDK, which reads answers as ours does."""


@dataclass
class Contender:
    name: str
    transport: str
    process: "subprocess.Popen[str]"
    about: dict[str, Any] = field(default_factory=dict)
    repetitions: list[list[dict[str, float]]] = field(default_factory=list)

    @property
    def shown(self) -> str:
        versions = [f"{package} {version}" for package, version in self.about["versions"].items()]
        named = f" ({', '.join(versions)})" if self.name in FRAMEWORKS[1:] else ""
        return f"{SHOWN[self.name]}{named}"

    @property
    def key(self) -> str:
        return f"{self.name}/{self.transport}"

    def hear(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"{self.key} has ended")
        heard: dict[str, Any] = json.loads(line)
        return heard

    def run(self, times: int) -> dict[str, Any]:
        assert self.process.stdin is not None
        self.process.stdin.write(f"{times}\n")
        self.process.stdin.flush()
        return self.hear()

    def cpu_ms(self, runs: int) -> list[float]:
        """Per call, by repetition."""
        return [1000 * sum(part["cpu"] for part in parts) / runs / CALLS for parts in self.repetitions]

    def latency_ms(self) -> float:
        return 1000 * statistics.median(part["latency"] for parts in self.repetitions for part in parts)

    def peak_mib(self) -> float:
        return max(part["peak_kib"] for parts in self.repetitions for part in parts) / 1024


@contextmanager
def simulator() -> Iterator[str]:
    """In a process of its own, so that its time is nobody's. Answers the work, again and again."""
    port = free_port()
    command = [sys.executable, "-m", "workers.simulator", "--latency", "0", "--port", str(port)]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    url = f"http://127.0.0.1:{port}"
    try:
        wait_until(lambda: _scripted(url), 60, "the simulator to listen")
        yield url
    finally:
        process.terminate()
        process.wait(10)


def _scripted(url: str) -> bool:
    script = {"turns": TURNS, "match": MARK, "repeat": True}
    try:
        return bool(httpx2.post(f"{url}/_sim/scripts", json=script).status_code == 200)
    except httpx2.TransportError:
        return False


@contextmanager
def contender(name: str, transport: str, url: str) -> Iterator[Contender]:
    python = str(PEERS) if name in FRAMEWORKS else sys.executable
    command = [python, "-m", "tests.bench.contenders", name, transport, url]
    quiet = {**os.environ, "PYTHONPATH": str(ROOT), "LANGSMITH_TRACING": "false"}
    process = subprocess.Popen(command, cwd=ROOT, env=quiet, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        found = Contender(name, transport, process)
        found.about = found.hear()
        yield found
    finally:
        process.kill()
        process.wait()


def compete(who: Sequence[tuple[str, str]], runs: int, repetitions: int) -> list[Contender]:
    """Each in turn, another one first each time."""
    with ExitStack() as stack:
        url = stack.enter_context(simulator())
        field = [stack.enter_context(contender(name, transport, url)) for name, transport in who]
        for one in field:
            one.run(WARM_UP)
        for repetition in range(repetitions):
            for one in field:
                one.repetitions.append([])
            for turn in range(runs // TURN):
                first = (repetition + turn) % len(field)
                for one in (*field[first:], *field[:first]):
                    one.repetitions[-1].append(one.run(TURN))
    return field


def report(field: Sequence[Contender], runs: int) -> Report:
    found = Report()
    ways = {transport: [one for one in field if one.transport == transport] for transport in ("httpx", "aiohttp")}
    for transport, ones in ways.items():
        if ones:
            found.tables.append(_table(transport, ones, runs, found.figures))
    repetitions = len(field[0].repetitions)
    found.notes.append(
        f"{repetitions} repetitions of {runs} runs of {CALLS} calls each, in turns of {TURN} runs; medians, and ratios "
        f"within a repetition. Python {field[0].about['python']}, anthropic {_anthropic(field)}, uvloop. {machine()}."
    )
    if not PEERS.exists():
        found.notes.append("LangGraph, pydantic-ai and the SDK's tool runner take part after `make bench-deps`.")
    return found


def _table(transport: str, ones: Sequence[Contender], runs: int, figures: dict[str, Any]) -> Table:
    columns = ["loop", "CPU ms per call", "lowest to highest", "× SDK, raw bodies", "p50 ms per call", "peak MiB"]
    table = Table(f"Agent loop on {transport}", columns)
    base = next(one for one in ones if one.name == BASE).cpu_ms(runs)
    for one in sorted(ones, key=lambda one: statistics.median(one.cpu_ms(runs))):
        cpu = one.cpu_ms(runs)
        ratio = statistics.median(mine / other for mine, other in zip(cpu, base, strict=True))
        figures[one.key] = {"cpu_ms": cpu, "ratio": ratio, "p50_ms": one.latency_ms(), "peak_mib": one.peak_mib()}
        table.rows.append(
            [
                one.shown,
                f"{statistics.median(cpu):.2f}",
                f"{min(cpu):.2f} to {max(cpu):.2f}",
                f"{ratio:.2f}",
                f"{one.latency_ms():.1f}",
                f"{one.peak_mib():.0f}",
            ]
        )
    return table


def _anthropic(field: Sequence[Contender]) -> str:
    return next(str(one.about["versions"]["anthropic"]) for one in field if one.name == BASE)


def plot(field: Sequence[Contender], runs: int) -> str:
    ones = [(one.shown, statistics.median(one.cpu_ms(runs)), one.name == "ours") for one in _on_httpx(field)]
    return bars("Processor time per model call", sorted(ones, key=lambda one: one[1]), "ms")


def _on_httpx(field: Sequence[Contender]) -> list[Contender]:
    return [one for one in field if one.transport == "httpx"]


def main() -> None:
    parser = argparse.ArgumentParser(prog="agent-loop", description=__doc__)
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--loops", default=",".join(SHOWN), help="which, comma-separated; `bodies` must be among them")
    parser.add_argument("--plot", metavar="FILE.svg")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    names = [name for name in given.loops.split(",") if name not in FRAMEWORKS or PEERS.exists()]
    who = [(name, "httpx") for name in names] + [(name, "aiohttp") for name in ("bodies", "parsed", "ours")]
    field = compete(who, given.runs, given.repetitions)
    report(field, given.runs).show(as_json=given.json)
    if given.plot:
        save(given.plot, plot(field, given.runs))


if __name__ == "__main__":
    main()
