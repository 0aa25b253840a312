"""A gateway process with something of every kind in it, for requests that nobody would send on purpose."""

import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import psycopg

from tests.builders_face import ADMIN
from tests.stack import clean_environment, free_port, wait_until
from tests.upstream import SECRET

ORG = "acme"
HEADERS = {"Authorization": f"Bearer {ADMIN}"}
RESOURCES: list[dict[str, Any]] = [
    {"kind": "Organization", "name": ORG, "webhook": {"url": "https://app.example/hook", "secret": SECRET}},
    {"kind": "Persona", "name": "maya", "language": "fr"},
    {"kind": "Rule", "name": "calm", "when": "message.text.contains('x')", "then": {"inject": "Stay calm."}},
    {"kind": "Document", "name": "shipping", "scope": "organization", "text": "On Fridays."},
]
REAL = {
    "/v1/jobs/{id}": ("job_1",),
    "/v1/conversations/{id}": ("c-1",),
    "/v1/contacts/{id}": ("fan-1", "fan-2"),
    "/v1/messages/{id}": ("m-1", "m-2"),
    "/v1/candidates/{id}": ("bub_1",),
    "/v1/explain/{id}": ("job_1", "c-1", "m-1"),
    "/v1/attention/{job}": ("job_1",),
    "/v1/dead-letters/{id}": ("dead_1",),
    "/v1/users/{id}": ("user_1",),
    "/v1/keys/{id}": ("key_2",),
    "/v1/payments/{id}": ("pay_1",),
}


@dataclass(frozen=True)
class Running:
    url: str
    log: Path

    def call(self, method: str, path: str, **options: Any) -> httpx2.Response:
        headers = {**HEADERS, "X-Organization": ORG, **options.pop("headers", {})}
        return httpx2.request(method, self.url + path, headers=headers, timeout=20, **options)


@contextmanager
def running_gateway(database_url: str, folder: Path, **settings: str) -> Iterator[Running]:
    import subprocess
    import sys

    port, log = free_port(), folder / "gateway.log"
    environment = clean_environment(
        DATABASE_URL=database_url, REPLIQUE_BOOTSTRAP_KEY=ADMIN, PUBLIC_URL=f"http://127.0.0.1:{port}", **settings
    )
    command = [sys.executable, "-c", "from workers.cli import main; main()", "gateway", "--port", str(port)]
    with log.open("wb") as lines:
        process = subprocess.Popen(command, env=environment, cwd=folder, stdout=lines, stderr=lines)
    running = Running(f"http://127.0.0.1:{port}", log)
    try:
        wait_until(lambda: answers(running, process), 60, "the gateway to answer")
        yield running
    finally:
        process.terminate()
        process.wait(20)


def answers(running: Running, process: Any) -> bool:
    assert process.poll() is None, running.log.read_text()
    try:
        return bool(httpx2.get(f"{running.url}/readyz", timeout=5).status_code == 200)
    except httpx2.HTTPError:
        return False


def furnish(running: Running, database_url: str) -> None:
    """One of everything, so that ids lead somewhere."""
    for body in ({"resources": RESOURCES},):
        assert running.call("POST", "/v1/apply", json=body).status_code == 200
    for n in (1, 2):
        message = {
            "id": f"m-{n}",
            "conversation": f"c-{n}",
            "persona": "maya",
            "author": "contact",
            "contact": {"id": f"fan-{n}", "profile": {"total_spent": "35.00"}},
            "text": "coucou",
        }
        assert running.call("POST", "/v1/messages", json=message).status_code == 202
    assert running.call("POST", "/v1/keys", json={"role": "app"}).status_code == 201
    user = {"name": "zoe", "email": "zoe@acme.example"}
    assert running.call("POST", "/v1/users", json=user).status_code == 201
    with psycopg.connect(database_url) as connection:
        connection.execute(
            "INSERT INTO dead_letters (org_id, source, code, error, attempts, payload) "
            "SELECT id, 'queue', 'AR-570', 'test', 1, '{}' FROM organizations LIMIT 1"
        )


def led_somewhere(path: str, parameters: dict[str, Any]) -> dict[str, Any]:
    """Two of three generated ids give way to real ones: what lies behind a 404 is seldom where the faults are."""
    known = next((ids for prefix, ids in REAL.items() if path.startswith(prefix)), ())
    found = {}
    for name, value in parameters.items():
        lot = zlib.crc32(str(value).encode(errors="replace"))
        found[name] = known[lot % len(known)] if known and lot % 3 else value
    return found
