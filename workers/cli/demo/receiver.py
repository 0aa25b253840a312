"""The upstream app of the demo: takes signed webhooks and remembers what it would have shown to the contact."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from queue import SimpleQueue
from typing import Any

from standardwebhooks.webhooks import Webhook, WebhookVerificationError


@dataclass(frozen=True)
class Delivery:
    """One webhook as it arrived. `verified`: its signature is that of the secret we gave."""

    webhook_id: str
    type: str
    data: dict[str, Any]
    verified: bool


@dataclass
class Receiver:
    """`arrivals` is emptied by whoever tells the story; `all` keeps everything, repeated deliveries too."""

    url: str
    arrivals: SimpleQueue[Delivery] = field(default_factory=SimpleQueue)
    all: list[Delivery] = field(default_factory=list)

    def take(self, delivery: Delivery) -> None:
        self.all.append(delivery)
        self.arrivals.put(delivery)


@contextmanager
def receiving(secret: str) -> Iterator[Receiver]:
    """Listen on a free port of this machine until the block ends."""
    webhook = Webhook(secret)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            delivery = _read(webhook, body, {name.lower(): value for name, value in self.headers.items()})
            receiver.take(delivery)
            answer = json.dumps({"id": f"shown-{len(receiver.all)}"}).encode()
            self.send_response(200 if delivery.verified else 401)
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, *_: object) -> None:
            """The story tells what arrived."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    receiver = Receiver(f"http://127.0.0.1:{server.server_port}/webhooks")
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    try:
        yield receiver
    finally:
        server.shutdown()
        server.server_close()


def _read(webhook: Webhook, body: bytes, headers: dict[str, str]) -> Delivery:
    try:
        webhook.verify(body, headers)
        verified = True
    except WebhookVerificationError:
        verified = False
    try:
        envelope = json.loads(body)
        kind, facts = str(envelope["type"]), dict(envelope["data"])
    except (ValueError, KeyError, TypeError):
        kind, facts, verified = "unreadable", {}, False
    return Delivery(headers.get("webhook-id", ""), kind, facts, verified)
