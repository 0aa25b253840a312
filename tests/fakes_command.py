"""A gateway that says what a test wants, over real HTTP, and remembers what it was asked."""

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Answer = tuple[int, Any]
"""Status and JSON body; a string body is sent as it is."""


@dataclass(frozen=True)
class Asked:
    method: str
    path: str
    body: Any
    organization: str | None
    authorization: str | None


@dataclass
class FakeGateway:
    """`answers` by "METHOD /path?query"; a list is used up front to back, its last member stays."""

    url: str = ""
    answers: dict[str, Answer | list[Answer]] = field(default_factory=dict)
    asked: list[Asked] = field(default_factory=list)

    def answer(self, asked: Asked) -> Answer:
        self.asked.append(asked)
        found = self.answers.get(f"{asked.method} {asked.path}", (404, problem("AR-404", "no such route")))
        if isinstance(found, tuple):
            return found
        return found.pop(0) if len(found) > 1 else found[0]


def problem(code: str, detail: str, **facts: Any) -> dict[str, Any]:
    status = int(code.removeprefix("AR-"))
    return {"type": "about:blank", "title": detail, "status": status, "detail": detail, "code": code, **facts}


def a_job(**changes: Any) -> dict[str, Any]:
    job = {
        "id": "job_7",
        "organization": "demo",
        "conversation": "maya-leo",
        "engine": "v2",
        "trigger": "message",
        "state": "queued",
        "outcome": None,
        "code": None,
        "reason": None,
        "attention": False,
        "attempts": 0,
        "due_at": None,
        "on_hold": False,
        "created_at": "2026-11-30T10:00:00+00:00",
        "ended_at": None,
        "candidates": [],
        "usage": {},
        "rules": [],
        "trace": [],
        "events": [],
    }
    return job | changes


def a_bubble(state: str, text: str = "coucou toi", ordinal: int = 0) -> dict[str, Any]:
    return {"id": f"bub_{ordinal + 1}", "ordinal": ordinal, "kind": "text", "state": state, "text": text}


@contextmanager
def serving(handle: Callable[[BaseHTTPRequestHandler, str, bytes], Answer]) -> Iterator[str]:
    """Serve on a free port until the block ends; yields the address."""

    class Handler(BaseHTTPRequestHandler):
        def answer(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            status, value = handle(self, self.command, body)
            sent = value.encode() if isinstance(value, str) else json.dumps(value).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/problem+json" if status >= 400 else "application/json")
            self.send_header("Content-Length", str(len(sent)))
            self.end_headers()
            self.wfile.write(sent)

        do_GET = do_POST = do_PATCH = do_DELETE = answer  # noqa: N815  (the library's names)

        def log_message(self, *_: object) -> None:
            return

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


@contextmanager
def fake_gateway() -> Iterator[FakeGateway]:
    fake = FakeGateway()

    def handle(request: BaseHTTPRequestHandler, method: str, body: bytes) -> Answer:
        heads = request.headers
        return fake.answer(
            Asked(method, request.path, json.loads(body or b"null"), heads["X-Organization"], heads["Authorization"])
        )

    with serving(handle) as fake.url:
        yield fake


def eventually(true: Callable[[], object], seconds: float = 20.0) -> None:
    """Return when `true` says so; fail when it does not in time."""
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "did not come true in time"
        time.sleep(0.02)
