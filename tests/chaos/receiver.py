"""A receiver with moods: slow, failing, refusing, hanging after it has applied a bubble, or without."""

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from http.server import ThreadingHTTPServer
from typing import Any

from tests.upstream import Post, Receiver, _handler


class Mood(StrEnum):
    KIND = "kind"
    SLOW = "slow"
    FAILS = "fails"
    """Answers 503."""
    HANGS = "hangs"
    """Applies the bubble, and the answer comes too late."""
    SILENT = "silent"
    """Applies nothing, and answers when nobody waits any more."""


@dataclass
class MoodyReceiver(Receiver):
    mood: Mood = Mood.KIND
    slow_seconds: float = 0.3
    too_late_seconds: float = 3.0
    refusals: int = 0
    """So many bubbles yet to come are refused for good (422)."""

    def take(self, headers: dict[str, str], raw: bytes) -> int:
        mood = self.mood
        if mood is Mood.FAILS:
            return self._not_applied(headers, raw, 503)
        if mood is Mood.SILENT:
            time.sleep(self.too_late_seconds)
            return self._not_applied(headers, raw, 503)
        if self._refuses(raw):
            return self._not_applied(headers, raw, 422)
        if mood is Mood.SLOW:
            time.sleep(self.slow_seconds)
        status = super().take(headers, raw)
        if mood is Mood.HANGS:
            time.sleep(self.too_late_seconds)
        return status

    def _refuses(self, raw: bytes) -> bool:
        if json.loads(raw)["type"] != "message.send":
            return False
        with self.lock:
            self.refusals -= 1
            return self.refusals >= 0

    def _not_applied(self, headers: dict[str, str], raw: bytes, status: int) -> int:
        with self.lock:
            self.posts.append(Post(headers["webhook-id"], json.loads(raw), time.monotonic(), status))
        return status

    def bubbles(self) -> list[Post]:
        """The accepted attempts at bubbles, in the order of arrival; an attempt that was repeated is there twice."""
        with self.lock:
            return [post for post in self.posts if post.type == "message.send" and post.status == 200]


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 256

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Who asked has gone: that is what this receiver is for."""


@contextmanager
def moody_receiver() -> Iterator[tuple[MoodyReceiver, int]]:
    """The receiver and its port; its `url` is the caller's to say."""
    receiver = MoodyReceiver()
    server = _Server(("127.0.0.1", 0), _handler(receiver))
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield receiver, server.server_port
    finally:
        server.shutdown()
        server.server_close()
        thread.join(5)
