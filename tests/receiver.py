"""A webhook receiver on a free port that answers as scripted: a status, a silence, a cut."""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

Answer = Callable[[asyncio.StreamWriter], Coroutine[Any, Any, None]]


@dataclass
class Receiver:
    port: int = 0
    heard: list[tuple[dict[str, str], str]] = field(default_factory=list)
    """Headers (lower case) and body of every request."""
    script: list[Answer] = field(default_factory=list)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/hooks"

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while line := await reader.readline():
                headers = {":request": line.decode().strip()}
                while (line := await reader.readline()) not in {b"\r\n", b""}:
                    name, _, value = line.decode().partition(":")
                    headers[name.lower()] = value.strip()
                body = await reader.readexactly(int(headers.get("content-length", 0)))
                self.heard.append((headers, body.decode()))
                await self.script.pop(0)(writer)
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()


def status(code: int, body: str = "", **headers: str) -> Answer:
    lines = [f"HTTP/1.1 {code} x", f"content-length: {len(body.encode())}"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    answer = ("\r\n".join(lines) + "\r\n\r\n" + body).encode()

    async def send(writer: asyncio.StreamWriter) -> None:
        writer.write(answer)
        await writer.drain()

    return send


def raw(text: bytes) -> Answer:
    """These bytes, then the connection is cut."""

    async def send(writer: asyncio.StreamWriter) -> None:
        writer.write(text)
        await writer.drain()
        writer.close()

    return send


def silence(seconds: float) -> Answer:
    async def send(writer: asyncio.StreamWriter) -> None:
        await asyncio.sleep(seconds)

    return send


@asynccontextmanager
async def receiving(*script: Answer, host: str = "127.0.0.1", port: int = 0) -> AsyncIterator[Receiver]:
    receiver = Receiver(script=list(script))
    server = await asyncio.start_server(receiver.serve, host, port, limit=2**20)
    receiver.port = server.sockets[0].getsockname()[1]
    try:
        yield receiver
    finally:
        server.close()
