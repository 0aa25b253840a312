"""The whole product as processes of its own, on real servers: what the end-to-end tests look at from outside."""

import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any, TypeVar

import httpx2

from tests import servers
from tests.upstream import SECRET, Receiver

ROOT = Path(__file__).parents[1]
ADMIN_KEY = "rk_admin_for_the_end_to_end_tests"
COMMAND = [sys.executable, "-c", "from workers.cli import main; main()"]
NUMBERS = count(1)

T = TypeVar("T")


def clean_environment(**extra: str) -> dict[str, str]:
    """This process's environment without settings of ours, so that a desk's own do not leak into a test."""
    ours = ("REPLIQUE_", "AI_", "MAX_", "ANTHROPIC_", "OPENAI_", "DATABASE_URL", "REDIS_URL", "PUBLIC_URL", "STORAGE_")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    return {**kept, "PYTHONPATH": str(ROOT), **extra}


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def wait_until(look: Callable[[], T | None], seconds: float, what: str) -> T:
    """What `look` answers once it is truthy; fails with `what` after `seconds`."""
    end = time.monotonic() + seconds
    while True:
        if found := look():
            return found
        if time.monotonic() > end:
            raise AssertionError(f"not within {seconds} s: {what}")
        time.sleep(0.03)


@dataclass
class Stack:
    url: str
    receiver: Receiver
    environment: dict[str, str]
    logs: Path
    children: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    @property
    def database_url(self) -> str:
        return self.environment["DATABASE_URL"]

    def start(self, name: str, *arguments: str, **extra: str) -> subprocess.Popen[bytes]:
        log = (self.logs / f"{name}.log").open("ab")
        with log:
            child = subprocess.Popen(
                [*COMMAND, *arguments], env={**self.environment, **extra}, stdout=log, stderr=log, cwd=self.logs
            )
        self.children[name] = child
        return child

    def stop(self, name: str, sign: signal.Signals = signal.SIGTERM) -> int:
        child = self.children.pop(name)
        child.send_signal(sign)
        return child.wait(40)

    def call(self, method: str, path: str, *, status: int | None = None, **options: Any) -> Any:
        headers = {"authorization": f"Bearer {ADMIN_KEY}", **options.pop("headers", {})}
        answer = httpx2.request(method, self.url + path, headers=headers, timeout=20, **options)
        if status is not None:
            assert answer.status_code == status, (answer.status_code, answer.text)
        return answer.json() if answer.content else None

    def organization(self, **persona: Any) -> "Talk":
        """A new organisation with one persona `maya` and a webhook; quick timings unless told otherwise."""
        name = f"org-{next(NUMBERS)}"
        self.provision(name, {}, persona)
        return Talk(self, name, f"{name}-c1")

    def provision(self, name: str, organization: dict[str, Any], persona: dict[str, Any]) -> None:
        """Documents are the whole truth: what is left out here returns to its quick default."""
        quick = {
            "debounce": {"quiet_seconds": 0.3, "max_wait_seconds": 2},
            "control_window_seconds": 0.3,
            "pacing": {"base_ms": 20, "per_char_ms": 0, "jitter": 0},
            "display_name": "Maya",
            "language": "fr",
            "disclosure": {"notice": False, "accept": "2026-08"},
        }
        resources = [
            {
                "kind": "Organization",
                "name": name,
                "webhook": {"url": self.receiver.url, "secret": SECRET},
                **organization,
            },
            {"kind": "Persona", "name": "maya", **quick, **persona},
        ]
        self.call("POST", "/v1/apply", json={"resources": resources}, headers={"x-organization": name}, status=200)


@dataclass
class Talk:
    """One conversation of one organisation, seen from its upstream app and its operator."""

    stack: Stack
    org: str
    name: str
    marker: str = ""

    def __post_init__(self) -> None:
        self.marker = self.marker or f"§{self.name}§"

    def another(self) -> "Talk":
        return Talk(self.stack, self.org, f"{self.org}-c{next(NUMBERS)}")

    def call(self, method: str, path: str, **options: Any) -> Any:
        return self.stack.call(method, path, headers={"x-organization": self.org}, **options)

    def say(self, text: str, id: str | None = None, **fields: Any) -> Any:
        """The contact writes. The text carries the conversation's marker, so that a script can aim at it."""
        body = {
            "id": id or f"{self.name}-m{next(NUMBERS)}",
            "conversation": self.name,
            "persona": "maya",
            "author": "contact",
            "contact": {"id": f"fan-{self.name}", "name": "Léo", "locale": "fr", "timezone": "Europe/Paris"},
            "text": f"{text} {self.marker}",
            **fields,
        }
        return self.call("POST", "/v1/messages", json=body, status=202)

    def job(self, id: str) -> Any:
        return self.call("GET", f"/v1/jobs/{id}", status=200)

    def jobs(self) -> list[Any]:
        found = self.call("GET", f"/v1/jobs?conversation={self.name}", status=200)["items"]
        return sorted(found, key=lambda job: int(job["id"].split("_")[1]))

    def ended(self, id: str, state: str = "sent", seconds: float = 20) -> Any:
        job = self._wait(id, lambda job: bool(job["outcome"]), seconds)
        assert job["state"] == state, job
        return job

    def reaches(self, id: str, state: str, seconds: float = 15) -> Any:
        return self._wait(id, lambda job: bool(job["state"] == state), seconds)

    def _wait(self, id: str, there: Callable[[Any], bool], seconds: float) -> Any:
        def look() -> Any:
            job = self.job(id)
            return job if there(job) else None

        try:
            return wait_until(look, seconds, id)
        except AssertionError:
            _show_logs(self.stack)
            raise AssertionError(f"not there within {seconds} s: {self.job(id)}") from None

    def texts(self) -> list[str]:
        return [bubble["text"] for bubble in self.stack.receiver.applied(self.name)]


@contextmanager
def running_stack(
    database_url: str, redis_url: str, model_url: str, receiver: Receiver, **settings: str
) -> Iterator[Stack]:
    """Gateway, clock and two workers as children; ready when this is entered, drained when it is left."""
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    environment = clean_environment(
        DATABASE_URL=database_url,
        REDIS_URL=redis_url,
        ANTHROPIC_BASE_URL=model_url,
        ANTHROPIC_API_KEY="sk-simulated",
        PUBLIC_URL=url,
        REPLIQUE_BOOTSTRAP_KEY=ADMIN_KEY,
        REPLIQUE_ALLOW_PRIVATE_URLS="true",
        REPLIQUE_QUEUE__DRAIN_SECONDS="5",
        **settings,
    )
    with ExitStack() as cleanup:
        logs = Path(cleanup.enter_context(tempfile.TemporaryDirectory(prefix="replique-stack-")))
        stack = Stack(url, receiver, environment, logs)
        try:
            stack.start("gateway", "gateway", "--port", str(port))
            stack.start("clock", "clock")
            stack.start("reply", "worker", "--queues", "reply,background", REPLIQUE_INSTANCE="reply-1")
            stack.start("send", "worker", "--queues", "send", REPLIQUE_INSTANCE="send-1")
            wait_until(lambda: is_ready(stack), 180, "the processes to be ready")
            yield stack
        except BaseException:
            _show_logs(stack)
            raise
        finally:
            for child in stack.children.values():
                child.terminate()
            for child in stack.children.values():
                _end(child)


@contextmanager
def stack_on_a_database(
    postgres_server: str, database_template: str, redis_url: str, model_url: str, receiver: Receiver, **settings: str
) -> Iterator[Stack]:
    """As above, on a new database, and a Redis that is emptied first."""
    servers.flush(redis_url)
    with (
        servers.database(postgres_server, database_template) as database_url,
        running_stack(database_url, redis_url, model_url, receiver, **settings) as stack,
    ):
        yield stack


def is_ready(stack: Stack) -> bool:
    for name, child in stack.children.items():
        assert child.poll() is None, f"{name} exited with {child.returncode}"
    if not all("worker_started" in (stack.logs / f"{name}.log").read_text() for name in ("reply", "send")):
        return False
    try:
        return bool(httpx2.get(stack.url + "/readyz", timeout=2).status_code == 200)
    except httpx2.HTTPError:
        return False


def _end(child: subprocess.Popen[bytes]) -> None:
    try:
        child.wait(15)
    except subprocess.TimeoutExpired:
        child.kill()
        child.wait(5)


def _show_logs(stack: Stack) -> None:
    for log in sorted(stack.logs.glob("*.log")):
        print(f"--- {log.name}\n{log.read_text(errors='replace')[-4000:]}")
