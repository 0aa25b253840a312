"""Whether one organisation's flood delays another: `python -m tests.bench.fairness [--flood N] [--messages N]`.

One organisation's app posts its messages one after the other while nothing else goes on. Then another organisation
posts a flood, each message in a conversation of its own, and the first one posts as before. Gateway, clock, reply and
send worker are processes of their own on real PostgreSQL and Valkey; the model is the simulator, which thinks for a
fixed time. Measured by the app: from the posting of a message to the first bubble that its receiver accepts.
Prints tables, asserts nothing.
"""

import argparse
import asyncio
import json
import statistics
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass, field

import httpx2
import psutil

from tests import servers
from tests.bench.job import PARTS
from tests.bench.report import Report, Table, machine
from tests.stack import ADMIN_KEY, ROOT, Stack, free_port, running_stack, wait_until
from tests.upstream import Receiver

THINK_SECONDS = 0.5
EACH_SECONDS = 0.25
"""The small organisation's app posts a message this often."""
POSTERS = 16
PATIENCE = 300.0


@dataclass
class App:
    """Both organisations' upstream app: when each conversation was written to, and when it was first answered."""

    url: str = ""
    posted: dict[str, float] = field(default_factory=dict)
    answered: dict[str, float] = field(default_factory=dict)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower()
                raw = await reader.readexactly(int(head.split("content-length: ")[1].split("\r\n")[0]))
                writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}")
                body = json.loads(raw)
                if body["type"] == "message.send":
                    self.answered.setdefault(body["data"]["conversation"], time.monotonic())
        except (asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            writer.close()

    def took(self, of: str) -> list[float]:
        """Sorted seconds of the conversations whose names begin so."""
        return sorted(self.answered[name] - at for name, at in self.posted.items() if name.startswith(of))

    def waiting(self, of: str) -> int:
        return sum(name.startswith(of) and name not in self.answered for name in self.posted)

    def answered_of(self, of: str) -> int:
        return sum(name.startswith(of) for name in self.answered)


@dataclass
class Found:
    flood: int
    idle: list[float]
    loaded: list[float]
    posting: float
    """Seconds in which the flood was taken in."""
    per_second: float
    """Conversations of the flood answered a second, while the small organisation posted."""
    left: int
    """Conversations of the flood not answered yet as the last small one was."""
    cores: float

    @property
    def ratio(self) -> float:
        return at(self.loaded, 95) / at(self.idle, 95)


def at(values: list[float], percent: int) -> float:
    return statistics.quantiles(values, n=100, method="inclusive")[percent - 1]


@asynccontextmanager
async def running_app() -> AsyncIterator[App]:
    app = App()
    server = await asyncio.start_server(app.serve, "127.0.0.1", 0, backlog=1000)
    app.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/hook"
    try:
        yield app
    finally:
        server.close()


@contextmanager
def thinking_model(seconds: float) -> Iterator[str]:
    """In a process of its own. It makes answers up, each call after so many seconds."""
    port = free_port()
    command = [sys.executable, "-m", "workers.simulator", "--latency", str(seconds), "--port", str(port)]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        wait_until(lambda: _listens(port), 60, "the simulator to listen")
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(10)


def _listens(port: int) -> bool:
    try:
        httpx2.get(f"http://127.0.0.1:{port}/", timeout=2)
    except httpx2.TransportError:
        return False
    return True


async def post(http: httpx2.AsyncClient, app: App, org: str, name: str) -> None:
    body = {
        "id": f"{name}-m1",
        "conversation": name,
        "persona": "maya",
        "author": "contact",
        "contact": {"id": f"fan-{name}", "name": "Léo", "locale": "fr"},
        "text": "coucou, tu fais quoi ce week-end ?",
    }
    app.posted[name] = time.monotonic()
    answer = await http.post("/v1/messages", json=body, headers={"x-organization": org})
    answer.raise_for_status()


async def one_by_one(http: httpx2.AsyncClient, app: App, name: str, messages: int) -> None:
    """So many messages of the small organisation, each answered when this is over."""
    posting = []
    for n in range(messages):
        posting.append(asyncio.create_task(post(http, app, "small", f"{name}-{n}")))
        await asyncio.sleep(EACH_SECONDS)
    await asyncio.gather(*posting)
    end = time.monotonic() + PATIENCE
    while waiting := app.waiting(f"{name}-"):
        if time.monotonic() > end:
            raise RuntimeError(f"{waiting} of {messages} messages were not answered within {PATIENCE:.0f} s")
        await asyncio.sleep(0.05)


async def flood(http: httpx2.AsyncClient, app: App, messages: int) -> float:
    began = time.monotonic()
    names = iter([f"flood-{n}" for n in range(messages)])

    async def poster() -> None:
        for name in names:
            await post(http, app, "big", name)

    await asyncio.gather(*(poster() for _ in range(POSTERS)))
    return time.monotonic() - began


def processor_seconds(stack: Stack) -> float:
    spent = 0.0
    for name in PARTS:
        own = psutil.Process(stack.children[name].pid)
        times = [process.cpu_times() for process in (own, *own.children(recursive=True))]
        spent += sum(each.user + each.system for each in times)
    return spent


async def measure(stack: Stack, app: App, messages: int, flooding: int) -> Found:
    headers = {"authorization": f"Bearer {ADMIN_KEY}"}
    async with httpx2.AsyncClient(base_url=stack.url, headers=headers, timeout=60) as http:
        await one_by_one(http, app, "warm", 5)
        await one_by_one(http, app, "idle", messages)
        posting = await flood(http, app, flooding)
        began, before, spent = time.monotonic(), app.answered_of("flood-"), processor_seconds(stack)
        await one_by_one(http, app, "loaded", messages)
        lasted = time.monotonic() - began
        return Found(
            flood=flooding,
            idle=app.took("idle-"),
            loaded=app.took("loaded-"),
            posting=posting,
            per_second=(app.answered_of("flood-") - before) / lasted,
            left=app.waiting("flood-"),
            cores=(processor_seconds(stack) - spent) / lasted,
        )


async def run(messages: int, flooding: int) -> Found:
    with ExitStack() as cleanup:
        model = cleanup.enter_context(thinking_model(THINK_SECONDS))
        server, redis_url = cleanup.enter_context(servers.postgres()), cleanup.enter_context(servers.valkey())
        servers.make_template(server)
        database = cleanup.enter_context(servers.database(server))
        async with running_app() as app:
            stack = cleanup.enter_context(running_stack(database, redis_url, model, Receiver(url=app.url)))
            for org in ("small", "big"):
                stack.provision(org, {}, {})
            return await measure(stack, app, messages, flooding)


def report(found: Found) -> Report:
    shown = Report(figures={"idle": found.idle, "loaded": found.loaded, "ratio": found.ratio})
    table = Table("From a message to its first bubble", ["the small organisation", "p50 s", "p95 s", "longest s"])
    for name, values in (("alone", found.idle), (f"behind a flood of {found.flood}", found.loaded)):
        table.rows.append([name, f"{at(values, 50):.2f}", f"{at(values, 95):.2f}", f"{values[-1]:.2f}"])
    p50 = at(found.loaded, 50) / at(found.idle, 50)
    table.rows.append(["ratio", f"{p50:.2f}", f"{found.ratio:.2f}", f"{found.loaded[-1] / found.idle[-1]:.2f}"])
    shown.tables.append(table)
    shown.notes.append(
        f"The flood was taken in within {found.posting:.1f} s ({found.flood / found.posting:.0f} a second); then "
        f"{found.per_second:.1f} of its conversations were answered a second, {found.left} waited at the end. The "
        f"product used {found.cores:.2f} cores. The model thinks {THINK_SECONDS} s a call. {machine()}."
    )
    return shown


def main() -> None:
    parser = argparse.ArgumentParser(prog="fairness", description=__doc__)
    parser.add_argument("--flood", type=int, default=5_000)
    parser.add_argument("--messages", type=int, default=50)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    report(asyncio.run(run(given.messages, given.flood))).show(as_json=given.json)


if __name__ == "__main__":
    main()
