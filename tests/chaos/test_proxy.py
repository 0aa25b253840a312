"""The proxy does to connections what it says: everything else here trusts it."""

import socket
import socketserver
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import pytest

from tests.proxy import Mode, Proxies, Proxy, proxies


class Echo(socketserver.BaseRequestHandler):
    def handle(self) -> None:
        with suppress(ConnectionError):
            while data := self.request.recv(4096):
                self.request.sendall(data)


@pytest.fixture
def echo() -> Iterator[tuple[Proxies, Proxy]]:
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Echo) as server, proxies() as all_of_them:
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        yield all_of_them, all_of_them.open(("127.0.0.1", server.server_address[1]))
        server.shutdown()


@contextmanager
def connected(proxy: Proxy, seconds: float = 0.5) -> Iterator[socket.socket]:
    with socket.create_connection(("127.0.0.1", proxy.port), 2) as client:
        client.settimeout(seconds)
        yield client


def said(client: socket.socket, words: bytes) -> bytes:
    client.sendall(words)
    return client.recv(100)


def nobody_answers(proxy: Proxy) -> bool:
    """A reset may come before, while or after something is said."""
    try:
        with connected(proxy, 2) as client:
            return said(client, b"anybody?") == b""
    except ConnectionError:
        return True


def test_it_passes_what_is_said(echo: tuple[Proxies, Proxy]) -> None:
    with connected(echo[1]) as client:
        assert [said(client, b"one"), said(client, b"two")] == [b"one", b"two"]


def test_a_cut_resets_what_is_open_and_what_comes(echo: tuple[Proxies, Proxy]) -> None:
    all_of_them, proxy = echo
    with connected(proxy) as client:
        assert said(client, b"one") == b"one"
        all_of_them.turn(proxy, Mode.CUT)
        with pytest.raises(ConnectionResetError):
            client.recv(100)
    assert nobody_answers(proxy)
    all_of_them.turn(proxy, Mode.PASS)
    with connected(proxy) as client:
        assert said(client, b"three") == b"three"


def test_what_is_frozen_arrives_when_it_thaws(echo: tuple[Proxies, Proxy]) -> None:
    all_of_them, proxy = echo
    with connected(proxy, 0.2) as old:
        assert said(old, b"one") == b"one"
        all_of_them.turn(proxy, Mode.FREEZE)
        with connected(proxy, 0.2) as new:
            for client in (old, new):
                with pytest.raises(TimeoutError):
                    said(client, b"two")
            all_of_them.turn(proxy, Mode.PASS)
            for client in (old, new):
                client.settimeout(2)
                assert client.recv(100) == b"two"


def test_what_is_slow_comes_late(echo: tuple[Proxies, Proxy]) -> None:
    all_of_them, proxy = echo
    with connected(proxy, 2) as client:
        assert said(client, b"one") == b"one"
        all_of_them.turn(proxy, Mode.SLOW, 0.1)
        began = time.monotonic()
        assert said(client, b"two") == b"two"
        assert time.monotonic() - began >= 0.2, "there and back"


def test_a_server_that_is_down_is_a_cut(echo: tuple[Proxies, Proxy]) -> None:
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        port = nobody.getsockname()[1]
    proxy = echo[0].open(("127.0.0.1", port))
    assert nobody_answers(proxy)
