"""The runbook, typed as it stands into a shell by somebody with a key of ops, against the running product."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.architecture.test_guides import commands, dead_links
from tests.scripts import bubbles, done
from tests.stack import Stack, Talk, clean_environment
from workers.simulator.control import SimulatorControl

ROOT = Path(__file__).parents[2]
RUNBOOK = ROOT / "deploy" / "runbooks" / "no-answer.md"


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", RUNBOOK.read_text(encoding="utf-8"), re.S)


def typed(talk: Talk, folder: Path) -> subprocess.CompletedProcess[str]:
    """All of its commands, one after the other, in one shell that stops at the first that fails."""
    program = shutil.which("replique", path=str(Path(os.sys.executable).parent))  # type: ignore[attr-defined]
    assert program is not None
    made = talk.stack.call("POST", "/v1/keys", json={"role": "ops"}, status=201)
    environment = clean_environment(
        PATH=f"{Path(program).parent}:{os.environ['PATH']}",
        REPLIQUE_URL=talk.stack.url,
        REPLIQUE_KEY=made["key"],
        X=talk.name,
    )
    script = "\n".join(["set -eo pipefail", *blocks("sh")])
    return subprocess.run(
        ["bash", "-c", script], env=environment, cwd=folder, capture_output=True, text=True, timeout=240, check=False
    )


def promised() -> list[str]:
    """Lines that it says will be seen, with any number for a number."""
    shown = [line for block in blocks("text")[1:] for line in block.splitlines()]
    return [re.sub(r"(?<!AR-)(?<!\d)\d+(?!\d)(?<!400)", r"\\d+", re.escape(line)) for line in shown]


@pytest.mark.timeout(300)
async def test_an_ops_person_finds_why_retries_and_sees_it_delivered(
    stack: Stack, model: SimulatorControl, tmp_path: Path
) -> None:
    talk = stack.organization()
    stack.receiver.answers[talk.name] = [400]
    await model.script(bubbles("Un.", "Deux."), done(), match=talk.marker, task="reply")
    job = talk.say("salut")["job"]
    talk.ended(job, "failed", 60)

    told = typed(talk, tmp_path)

    assert told.returncode == 0, told.stdout + told.stderr
    assert [line for line in promised() if not re.search(f"^{line}$", told.stdout, re.M)] == []
    assert told.stdout.splitlines()[0].startswith(f"{job} failed with AR-560")
    assert talk.texts() == ["Un.", "Deux."]
    posts = stack.receiver.of(talk.name)
    assert len({post.id for post in posts if post.facts["text"] == "Un."}) == 1
    assert talk.call("GET", f"/v1/dead-letters?conversation={talk.name}")["items"] == []
    assert f"\tdelivery\tAR-560\t{job}\t" in told.stdout


def test_its_commands_exist_and_its_links_lead_somewhere() -> None:
    text = RUNBOOK.read_text(encoding="utf-8")
    named = re.findall(r"\breplique ((?:jobs|dead|keys|rules) [a-z-]+|[a-z]+)", text)

    assert {line for line in named if line not in commands()} == set()
    assert dead_links(RUNBOOK) == []
    assert len(blocks("sh")) > 5
