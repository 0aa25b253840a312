"""A TCP proxy between the product and one server, that passes, cuts, freezes or slows what goes through it."""

import asyncio
import socket
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from enum import StrEnum

CHUNK = 65_536
AT_ONCE = struct.pack("ii", 1, 0)
"""SO_LINGER: a close is a reset, not a farewell."""


class Mode(StrEnum):
    PASS = "pass"
    CUT = "cut"
    """Every connection is reset, new ones too."""
    FREEZE = "freeze"
    """Connections are accepted and stay open; nothing is forwarded, in either direction."""
    SLOW = "slow"
    """Each chunk waits."""


@dataclass
class Proxy:
    """`target` is a unix socket's path, or host and port. It belongs to one loop."""

    target: str | tuple[str, int]
    port: int = 0
    mode: Mode = Mode.PASS
    seconds: float = 0.0
    """What a chunk waits while it is slow."""
    reset: int = 0
    """Connections that were cut."""
    _open: set[asyncio.StreamWriter] = field(default_factory=set)
    _flows: asyncio.Event = field(default_factory=asyncio.Event)

    async def serve(self, near: asyncio.StreamReader, client: asyncio.StreamWriter) -> None:
        self._open.add(client)
        server: asyncio.StreamWriter | None = None
        try:
            await self._may_flow()
            if self.mode is Mode.CUT:
                return
            far, server = await self._connect()
            self._open.add(server)
            await _first_of(self._pump(near, server), self._pump(far, client))
        except OSError:
            pass  # the server is down: so is the connection
        finally:
            for writer in (client, server):
                if writer is not None:
                    self._open.discard(writer)
                    _reset(writer)

    async def turn(self, mode: Mode, seconds: float) -> None:
        self.mode, self.seconds = mode, seconds
        if mode is Mode.FREEZE:
            self._flows.clear()
        else:
            self._flows.set()
        if mode is Mode.CUT:
            self.reset += len(self._open)
            for writer in tuple(self._open):
                _reset(writer)

    async def _connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        if isinstance(self.target, str):
            return await asyncio.open_unix_connection(self.target)
        return await asyncio.open_connection(*self.target)

    async def _pump(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError, asyncio.IncompleteReadError):
            while data := await reader.read(CHUNK):
                await self._may_flow()
                writer.write(data)
                await writer.drain()

    async def _may_flow(self) -> None:
        if not self._flows.is_set():
            await self._flows.wait()
        if self.mode is Mode.SLOW:
            await asyncio.sleep(self.seconds)


async def _first_of(*pumps: "asyncio.Future[None] | object") -> None:
    """Until either side has ended: a half that is left is of no use to anybody here."""
    tasks = [asyncio.ensure_future(pump) for pump in pumps]  # type: ignore[arg-type]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def _reset(writer: asyncio.StreamWriter) -> None:
    wire = writer.get_extra_info("socket")
    if wire is not None and wire.family in (socket.AF_INET, socket.AF_INET6):
        with suppress(OSError, ValueError):  # it has closed by itself
            wire.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, AT_ONCE)
    writer.transport.abort()


class Proxies:
    """Any number of proxies on one loop, in a thread of its own; called from anywhere."""

    def __init__(self) -> None:
        self._loop = _new_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="proxies", daemon=True)
        self._servers: list[asyncio.Server] = []

    def open(self, target: str | tuple[str, int]) -> Proxy:
        return self._call(self._opened, target)

    def turn(self, proxy: Proxy, mode: Mode, seconds: float = 0.0) -> None:
        self._call(proxy.turn, mode, seconds)

    async def _opened(self, target: str | tuple[str, int]) -> Proxy:
        proxy = Proxy(target)
        await proxy.turn(Mode.PASS, 0)
        server = await asyncio.start_server(proxy.serve, "127.0.0.1", 0, limit=CHUNK)
        self._servers.append(server)
        proxy.port = server.sockets[0].getsockname()[1]
        return proxy

    def _call(self, work: Callable[..., object], *arguments: object) -> Proxy:
        return asyncio.run_coroutine_threadsafe(work(*arguments), self._loop).result(10)  # type: ignore[arg-type]

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        async def end() -> None:
            for server in self._servers:
                server.close()
            others = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
            for task in others:
                task.cancel()
            await asyncio.gather(*others, return_exceptions=True)
            await asyncio.sleep(0.05)  # what was reset is told so in the loop's next rounds

        asyncio.run_coroutine_threadsafe(end(), self._loop).result(10)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)
        self._loop.close()


def _new_loop() -> asyncio.AbstractEventLoop:
    try:
        import uvloop
    except ImportError:
        return asyncio.new_event_loop()
    return uvloop.new_event_loop()


@contextmanager
def proxies() -> Iterator[Proxies]:
    running = Proxies()
    running.start()
    try:
        yield running
    finally:
        running.stop()
