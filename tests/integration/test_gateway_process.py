"""The gateway as a process: it serves on a port, and ends what it has in hand when told to stop."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import httpx2
import psycopg

from tests.builders_face import ADMIN

ROOT = Path(__file__).resolve().parents[2]
SERVE = """
import sys
from schemas.settings import read_settings
from workers.gateway.app import serve
serve(read_settings(), "127.0.0.1", int(sys.argv[1]))
"""


def a_free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@contextmanager
def a_process(
    database_url: str, redis_url: str | None = None, **settings: str
) -> Iterator[tuple["subprocess.Popen[str]", str]]:
    port = a_free_port()
    environ = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), "DATABASE_URL": database_url}
    environ |= {"REPLIQUE_BOOTSTRAP_KEY": ADMIN, "REPLIQUE_LOG_JSON": "true", **settings}
    environ |= {"REDIS_URL": redis_url} if redis_url else {}
    command = [sys.executable, "-c", SERVE, str(port)]
    process = subprocess.Popen(
        command, env=environ, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    try:
        url = f"http://127.0.0.1:{port}"
        wait_until_alive(process, url)
        yield process, url
    finally:
        process.kill()
        process.communicate()


def wait_until_alive(process: "subprocess.Popen[str]", url: str) -> None:
    for _ in range(300):
        assert process.poll() is None
        try:
            httpx2.get(f"{url}/healthz")
        except httpx2.TransportError:
            time.sleep(0.1)
        else:
            return
    raise AssertionError("the gateway did not come up")


def test_it_serves_until_it_is_told_to_stop(database_url: str, redis_url: str) -> None:
    with a_process(database_url, redis_url) as (process, url):
        ready = httpx2.get(f"{url}/readyz").json()
        jobs = httpx2.get(f"{url}/v1/jobs", headers={"Authorization": f"Bearer {ADMIN}"}).json()
        process.send_signal(signal.SIGTERM)
        output, _ = process.communicate(timeout=20)

    assert (ready["ready"], ready["redis"], ready["clock"]["seen"]) == (True, {"reachable": True}, False)
    assert jobs == {"items": [], "next": None}
    assert process.returncode == 0
    assert ADMIN not in output


def test_a_request_in_hand_is_finished_before_it_stops(database_url: str) -> None:
    with (
        a_process(database_url) as (process, url),
        socket.create_connection(("127.0.0.1", int(url.split(":")[-1]))) as raw,
    ):
        head = (
            f"POST /v1/keys HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {ADMIN}\r\nContent-Type: application/json\r\n"
        )
        raw.sendall(f"{head}Content-Length: 14\r\n\r\n".encode() + b'{"role"')
        time.sleep(0.3)
        process.send_signal(signal.SIGTERM)
        time.sleep(0.3)
        raw.sendall(b':"ops"}')
        answer = raw.recv(65_536)
        process.communicate(timeout=20)

    assert answer.startswith(b"HTTP/1.1 201")
    assert process.returncode == 0


def test_told_to_stop_under_load_it_keeps_every_message_that_it_took(database_url: str) -> None:
    asked = range(400)
    with a_process(database_url) as (process, url), ThreadPoolExecutor(8) as pool:
        prepare(url)
        posting = [pool.submit(post, url, number) for number in asked]
        while sum(said.done() for said in posting) < 50:
            time.sleep(0.01)
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=40)
        answers = [said.result() for said in posting]
    with psycopg.connect(database_url) as connection:
        stored = {name for (name,) in connection.execute("SELECT name FROM messages").fetchall()}

    taken = {f"m-{number}" for number, answer in zip(asked, answers, strict=True) if answer == 202}
    counted = Counter(answers)
    assert process.returncode == 0
    assert counted.keys() == {202, None}, counted
    assert len(taken) >= 50
    assert taken - stored == set()


def prepare(url: str) -> None:
    resources = [{"kind": "Organization", "name": "acme"}, {"kind": "Persona", "name": "maya"}]
    answer = httpx2.post(f"{url}/v1/apply", json={"resources": resources}, headers=HEADERS)
    assert answer.status_code == 200, answer.text


HEADERS = {"Authorization": f"Bearer {ADMIN}", "X-Organization": "acme"}


def post(url: str, number: int) -> int | None:
    """The status, or None where nobody answered."""
    body = {"id": f"m-{number}", "conversation": f"c-{number}", "persona": "maya", "author": "contact"}
    try:
        answer = httpx2.post(
            f"{url}/v1/messages", json=body | {"contact": {"id": f"f-{number}"}, "text": "coucou"}, headers=HEADERS
        )
    except httpx2.TransportError:
        return None
    return answer.status_code
