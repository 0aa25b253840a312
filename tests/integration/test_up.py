"""`replique up` with servers of its own: it answers, is alone in its folder, comes back, and leaves nothing behind."""

import json
import re
import signal
import stat
import sys
from pathlib import Path

import httpx2
import psycopg
import pytest

from tests.fakes_command import eventually
from tests.installations import processes_of, replique, told, until
from workers.cli.ports import free_port

pytestmark = [pytest.mark.timeout(300), pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")]


def folder_for_servers(tmp_path: Path) -> Path:
    """A server that runs as nobody must be able to pass."""
    for folder in (tmp_path, *list(tmp_path.parents)[:2]):
        folder.chmod(0o711)
    return tmp_path


def test_up_answers_alone_and_leaves_nothing_behind(tmp_path: Path) -> None:
    folder, port = folder_for_servers(tmp_path), free_port()
    with replique("up", "--port", str(port), folder=folder) as process:
        welcome = until(process, "stop\t")
        connection = json.loads((folder / ".replique/connection.json").read_text())
        mode = stat.S_IMODE((folder / ".replique/connection.json").stat().st_mode)
        assert (connection["url"], mode) == (f"http://127.0.0.1:{port}", 0o600)
        assert next(line for line in welcome if connection["key"] in line).startswith("key\t")
        assert any(line.startswith("NO MODEL ANSWERS HERE:") for line in welcome)
        assert httpx2.get(f"{connection['url']}/readyz").json()["models"] == {"simulator": True}

        code, said = told("send", "coucou", "--persona", "maya", "--contact", "leo", "--follow", folder=folder)
        assert (code, re.findall(r"^job_1 is (\w+)", said, re.M)[-1]) == (0, "sent")
        assert told("up", "--port", str(port), folder=folder) == (1, (
            f"replique: `replique up` already runs in {folder}/.replique (process {process.pid}): "
            "stop it, or start in another folder\n"
        ))  # fmt: skip
        other = folder / "other"
        other.mkdir()
        assert told("up", "--port", str(port), folder=other) == (1, (
            f"replique: port {port} of 127.0.0.1 is in use: stop what listens there, or choose another with --port\n"
        ))  # fmt: skip

        process.send_signal(signal.SIGTERM)
        until(process, "stopped")
        assert process.wait(30) == 0
    eventually(lambda: processes_of(folder) == [])
    with replique("up", "--port", str(port), folder=folder) as process:
        again = until(process, "stop\t")
        assert not any("An empty database" in line for line in again)
        code, said = told("jobs", "list", folder=folder)
        assert (code, said.splitlines()[-1].split("\t")[:4]) == (0, ["job_1", "maya-leo", "message", "sent"])
        process.kill()
    eventually(lambda: processes_of(folder) == [], seconds=30)


def test_up_uses_the_servers_it_is_given(tmp_path: Path, database_url: str, redis_url: str) -> None:
    given = {"DATABASE_URL": database_url, "REDIS_URL": redis_url}
    with replique("up", "--port", str(free_port()), folder=tmp_path, **given) as process:
        welcome = until(process, "stop\t")
        assert "servers\tnone of its own: DATABASE_URL and REDIS_URL are used" in welcome
        kept = sorted(path.name for path in (tmp_path / ".replique").iterdir())
        assert kept == ["connection.json", "files", "lock", "logs"]
        code, said = told("send", "coucou", "--persona", "maya", "--contact", "leo", folder=tmp_path)
        assert (code, said.endswith(": job_1\n")) == (0, True)
        process.terminate()
        until(process, "stopped")
    with psycopg.connect(database_url) as connection:
        assert connection.execute("SELECT count(*) FROM jobs").fetchone() == (1,)


def test_a_setting_that_a_worker_refuses_ends_up_with_its_sentence(
    tmp_path: Path, database_url: str, redis_url: str
) -> None:
    servers = {"DATABASE_URL": database_url, "REDIS_URL": redis_url}
    models = {"AI_MODEL_REPLY": "gpt-6-luna", "ANTHROPIC_API_KEY": "sk-x"}  # whose provider has no key
    with replique("up", "--port", str(free_port()), folder=tmp_path, **servers, **models) as process:
        said = until(process, "replique: settings refused: AI_MODEL_*")
        assert any(re.match(r"replique: worker-\w+ does not start\. The end of its log:", line) for line in said)
        assert process.wait(30) == 1
    eventually(lambda: processes_of(tmp_path) == [])
