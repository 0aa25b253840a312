"""A receiver of signed webhooks, as an upstream app would run one: it checks signatures and applies each id once."""

import base64
import json
import threading
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from standardwebhooks.webhooks import Webhook, WebhookVerificationError

SECRET = "whsec_" + base64.b64encode(b"replique-tests-secret-0123456789").decode()


@dataclass(frozen=True)
class Post:
    """One attempt as it arrived; `status` is what it was answered."""

    id: str
    body: dict[str, Any]
    at: float
    status: int

    @property
    def type(self) -> str:
        return str(self.body["type"])

    @property
    def facts(self) -> dict[str, Any]:
        found: dict[str, Any] = self.body["data"]
        return found


@dataclass
class Receiver:
    url: str = ""
    posts: list[Post] = field(default_factory=list)
    forged: int = 0
    """Attempts whose signature did not hold."""
    answers: dict[str, list[int]] = field(default_factory=lambda: defaultdict(list))
    """Statuses to answer, in order, to the bubbles of a conversation; then 200."""
    lock: threading.Lock = field(default_factory=threading.Lock)

    def take(self, headers: dict[str, str], raw: bytes) -> int:
        try:
            Webhook(SECRET).verify(raw, headers)
        except WebhookVerificationError:
            with self.lock:
                self.forged += 1
            return 401
        body = json.loads(raw)
        with self.lock:
            waiting = self.answers[body["data"].get("conversation") or ""] if body["type"] == "message.send" else []
            status = waiting.pop(0) if waiting else 200
            self.posts.append(Post(headers["webhook-id"], body, time.monotonic(), status))
        return status

    def of(self, conversation: str, type: str = "message.send") -> list[Post]:
        with self.lock:
            return [p for p in self.posts if p.type == type and p.facts.get("conversation") == conversation]

    def applied(self, conversation: str) -> list[dict[str, Any]]:
        """The bubbles an app would show: accepted attempts, each id once, in order of arrival."""
        seen: dict[str, dict[str, Any]] = {}
        for post in self.of(conversation):
            if post.status == 200:
                seen.setdefault(post.id, post.facts)
        return list(seen.values())


def _handler(receiver: Receiver) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            raw = self.rfile.read(int(self.headers.get("content-length", "0")))
            status = receiver.take({k.lower(): v for k, v in self.headers.items()}, raw)
            answer = b"{}"
            self.send_response(status)
            self.send_header("content-length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, format: str, *args: object) -> None:
            """Quiet."""

    return Handler


@contextmanager
def running_receiver() -> Iterator[Receiver]:
    receiver = Receiver()
    server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(receiver))
    server.daemon_threads = True
    receiver.url = f"http://127.0.0.1:{server.server_port}/hooks"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield receiver
    finally:
        server.shutdown()
        server.server_close()
        thread.join(5)
