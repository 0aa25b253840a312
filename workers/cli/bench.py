"""`replique bench`: what things cost on this machine, against the simulator. Benchmarks come with the source."""

import json
import subprocess
import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from workers.cli.failures import CommandFailed

ROOT = Path(__file__).resolve().parents[2]


class Bench(StrEnum):
    """Modules of `tests/bench`, by the name a person types."""

    AGENT_LOOP = "agent-loop"
    JOB = "job"
    LATENESS = "lateness"
    INGEST = "ingest"
    PROMPT = "prompt"
    FAIRNESS = "fairness"


MEASURED = (Bench.AGENT_LOOP, Bench.JOB, Bench.FAIRNESS)
"""Those that answer tables as data; the others print theirs themselves."""


def bench(
    context: typer.Context,
    name: Annotated[
        Bench,
        typer.Argument(
            help="agent-loop: our loop beside others. job: a whole job beside its calls alone. lateness: due bubbles "
            "with a clock killed. ingest: messages per second. prompt: tokens of several layouts. fairness: one "
            "organisation behind another's flood."
        ),
    ],
    as_json: Annotated[bool, typer.Option("--json", help="The figures as JSON.")] = False,
) -> None:
    """Measure on this machine, against the simulator. What follows the name goes to the benchmark."""
    from workers.cli.terminal import Terminal

    module = name.value.replace("-", "_")
    if not (ROOT / "tests" / "bench" / f"{module}.py").exists():
        raise CommandFailed("benchmarks come with the source, and this is an installed package: clone it, make install")
    command = [sys.executable, "-m", f"tests.bench.{module}", *context.args]
    if name not in MEASURED:
        raise typer.Exit(subprocess.run(command, cwd=ROOT, check=False).returncode)  # noqa: S603
    asking = [*command, "--json"]
    done = subprocess.run(asking, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=False)  # noqa: S603
    if done.returncode:
        raise typer.Exit(done.returncode)
    found: dict[str, Any] = json.loads(done.stdout)
    terminal = Terminal()
    if as_json:
        return terminal.json(found)
    for table in found["tables"]:
        terminal.heading(table["title"])
        terminal.table(table["columns"], table["rows"])
    for note in found["notes"]:
        terminal.say(note)
    return None
