"""A TCP proxy before a server, which a test makes slow, silent or deaf: `delay`, `silent`, `deaf`."""

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from urllib.parse import parse_qsl, quote, urlsplit


@dataclass
class Proxy:
    """In front of `target`, the path of a Unix socket."""

    target: str
    port: int = 0
    delay: float = 0.0
    """Seconds before each answer is passed on."""
    silent: threading.Event = field(default_factory=threading.Event)
    """Set: whatever is said, in either direction, is kept back. Nobody is told."""
    deaf: bool = False
    """Who connects is hung up on."""
    lines: list[socket.socket] = field(default_factory=list)
    threads: list[threading.Thread] = field(default_factory=list)

    def cut(self) -> None:
        """Every connection there is."""
        for line in self.lines:
            with suppress(OSError):
                line.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        self.silent.clear()
        self.cut()
        for thread in self.threads:
            thread.join(10)
        for line in self.lines:
            line.close()

    def accept(self, listener: socket.socket) -> None:
        while True:
            try:
                client, _ = listener.accept()
            except OSError:
                return
            server = socket.socket(socket.AF_UNIX)
            try:
                if self.deaf:
                    raise ConnectionRefusedError
                server.connect(self.target)
            except OSError:
                client.close()
                server.close()
                continue
            self.lines += [client, server]
            for source, sink, slow in ((client, server, False), (server, client, True)):
                thread = threading.Thread(target=self._pass, args=(source, sink, slow), daemon=True)
                self.threads.append(thread)
                thread.start()

    def _pass(self, source: socket.socket, sink: socket.socket, slow: bool) -> None:
        try:
            while said := source.recv(65_536):
                if slow and self.delay:
                    time.sleep(self.delay)
                while self.silent.is_set():
                    time.sleep(0.02)
                sink.sendall(said)
        except OSError:
            pass
        with suppress(OSError):
            sink.shutdown(socket.SHUT_RDWR)


@contextmanager
def running_proxy(database_url: str) -> Iterator[tuple[Proxy, str]]:
    """The proxy, and the database's address through it."""
    parts = urlsplit(database_url)
    folder = dict(parse_qsl(parts.query))["host"]
    proxy = Proxy(f"{folder}/.s.PGSQL.5432")
    with socket.create_server(("127.0.0.1", 0), backlog=200) as listener:
        proxy.port = listener.getsockname()[1]
        accepting = threading.Thread(target=proxy.accept, args=(listener,), daemon=True)
        accepting.start()
        try:
            yield proxy, f"postgresql://{quote(parts.username or '')}@127.0.0.1:{proxy.port}{parts.path}"
        finally:
            with suppress(OSError):
                listener.shutdown(socket.SHUT_RDWR)  # closing alone wakes nobody who accepts
            accepting.join(10)
            proxy.close()
