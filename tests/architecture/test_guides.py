"""Do the guides tell the truth? Their links lead somewhere, their examples are accepted, their commands exist."""

import json
import re
import shlex
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import typer
from standardwebhooks.webhooks import Webhook

from schemas.http import MessageIn
from schemas.manifest import Manifest
from workers.cli import manifest
from workers.cli.app import app

ROOT = Path(__file__).parents[2]
GUIDES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def shown(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def dead_links(guide: Path) -> list[str]:
    targets = re.findall(r"\]\(([^)#\s]+)", guide.read_text(encoding="utf-8"))
    return [target for target in targets if "://" not in target and not (guide.parent / target).exists()]


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", README, re.S)


def commands() -> set[str]:
    """Every command line of the program, as `jobs show`."""
    group = typer.main.get_command(app)
    found = set()
    for name, command in group.commands.items():  # type: ignore[attr-defined]
        below = getattr(command, "commands", None)
        found |= {f"{name} {sub}" for sub in below} if below else {name}
    return found


@pytest.mark.parametrize("guide", GUIDES, ids=shown)
def test_links_lead_somewhere(guide: Path) -> None:
    assert dead_links(guide) == []


def test_the_manifest_of_the_readme_is_accepted() -> None:
    documents = manifest.parse(blocks("yaml")[0], "README.md")
    accepted = Manifest.model_validate({"resources": documents})
    assert [(d.kind, d.name) for d in accepted.resources] == [("Organization", "shop"), ("Persona", "maya")]


def test_the_media_of_the_readme_are_accepted() -> None:
    documents = manifest.parse(next(block for block in blocks("yaml") if "Album" in block), "README.md")
    accepted = Manifest.model_validate({"resources": documents})
    assert [(d.kind, d.name) for d in accepted.resources] == [("Album", "summit"), ("MediaItem", "summit-1")]


def test_the_message_of_the_readme_is_accepted() -> None:
    curl = next(block for block in blocks("sh") if block.startswith("curl"))
    body = shlex.split(curl, comments=True)[-1]
    assert MessageIn.model_validate(json.loads(body)).id == "m-981"


def test_the_receiver_of_the_readme_runs_as_printed(tmp_path: Path) -> None:
    (tmp_path / "receiver.py").write_text(blocks("python")[0], encoding="utf-8")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "uvicorn", "receiver:app", "--port", str(port)]
    with subprocess.Popen(
        command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        try:
            url = f"http://127.0.0.1:{port}/replique"
            answered = [_posted(url, **bubble) for bubble in (TEXT, VOICE, TEXT)]
            forged = _posted(url, **TEXT | {"signed": False})
        finally:
            process.terminate()
        out = process.communicate(timeout=10)[0]

    assert (answered, forged) == ([200, 200, 200], 401)
    assert [line.strip() for line in out.splitlines() if line.startswith("c-12")] == [
        "c-12 coucou",
        "c-12 salut https://x.test/a.ogg",
    ]


TEXT: dict[str, Any] = {"delivery": "msg_1", "text": "coucou", "audio": None}
VOICE: dict[str, Any] = {"delivery": "msg_2", "text": "salut", "audio": {"url": "https://x.test/a.ogg"}}


def _posted(url: str, delivery: str, text: str, audio: dict[str, str] | None, *, signed: bool = True) -> int:
    """The status, once the receiver listens."""
    now = datetime.now(UTC)
    data = {"conversation": "c-12", "text": text, "audio": audio}
    body = json.dumps({"type": "message.send", "timestamp": now.isoformat(), "data": data})
    secret = re.search(r"whsec_[\w+/=]+", blocks("python")[0])
    assert secret
    headers = {
        "webhook-id": delivery,
        "webhook-timestamp": str(int(now.timestamp())),
        "webhook-signature": Webhook(secret[0]).sign(delivery, now, body) if signed else "v1,AAAA",
    }
    for _ in range(100):
        try:
            with urllib.request.urlopen(urllib.request.Request(url, body.encode(), headers), timeout=10) as answer:
                return int(answer.status)
        except urllib.error.HTTPError as refused:
            refused.close()
            return refused.code
        except urllib.error.URLError:
            time.sleep(0.1)
    raise AssertionError("the receiver does not listen")


def test_every_command_of_the_readme_exists() -> None:
    known = commands()
    text = "\n".join([*blocks("sh"), *re.findall("`.*?`", README)])
    told = re.findall(r"\breplique ((?:jobs|keys|rules|users) [a-z-]+|[a-z]+)", text)
    assert {line for line in told if line not in known} == set()
    assert len(told) > 10
