"""How many messages one gateway process takes: `python tests/bench/ingest.py [seconds] [connections]`.

The gateway runs alone on one core; PostgreSQL and the load share the other. Prints a table, asserts nothing.
"""

import asyncio
import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

import httpx2

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from tests import servers  # noqa: E402
from tests.builders_face import ADMIN  # noqa: E402
from tests.integration.test_gateway_process import SERVE, a_free_port, wait_until_alive  # noqa: E402

CONVERSATIONS = 500


def prepare(url: str) -> str:
    """An organisation, a persona, and an app's key."""
    admin = {"Authorization": f"Bearer {ADMIN}"}
    documents = [{"kind": "Organization", "name": "acme"}, {"kind": "Persona", "name": "maya"}]
    httpx2.post(f"{url}/v1/apply", json={"resources": documents}, headers=admin).raise_for_status()
    made = httpx2.post(f"{url}/v1/keys", json={"role": "app", "organization": "acme"}, headers=admin)
    key: str = made.json()["key"]
    return key


def a_request(n: int, key: str) -> bytes:
    conversation = n % CONVERSATIONS
    body = json.dumps(
        {
            "id": f"m-{n}",
            "conversation": f"c-{conversation}",
            "persona": "maya",
            "author": "contact",
            "contact": {"id": f"f-{conversation}", "name": "Léo", "locale": "fr"},
            "text": "coucou, tu fais quoi ce soir ?",
        }
    ).encode()
    head = f"POST /v1/messages HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {key}\r\nContent-Type: application/json\r\n"
    return f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body


async def one_connection(port: int, key: str, numbers: "Numbers", until: float, took: list[float]) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    while time.perf_counter() < until:
        request = a_request(numbers.next(), key)
        began = time.perf_counter()
        writer.write(request)
        head = await reader.readuntil(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 202"), head
        length = int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
        await reader.readexactly(length)
        took.append(time.perf_counter() - began)
    writer.close()


class Numbers:
    def __init__(self) -> None:
        self._last = 0

    def next(self) -> int:
        self._last += 1
        return self._last


async def load(port: int, key: str, seconds: float, connections: int) -> list[float]:
    numbers, took = Numbers(), list[float]()
    await asyncio.gather(*(one_connection(port, key, numbers, time.perf_counter() + 2, []) for _ in range(connections)))
    until = time.perf_counter() + seconds
    await asyncio.gather(*(one_connection(port, key, numbers, until, took) for _ in range(connections)))
    return took


def cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def main(seconds: float, connections: int) -> None:
    with servers.postgres() as server:
        servers.make_template(server)
        with servers.database(server) as database:
            port = a_free_port()
            environ = {**os.environ, "DATABASE_URL": database, "REPLIQUE_BOOTSTRAP_KEY": ADMIN, "PYTHONPATH": str(ROOT)}
            process = subprocess.Popen([sys.executable, "-c", SERVE, str(port)], env=environ, text=True)
            try:
                os.sched_setaffinity(process.pid, {0})
                os.sched_setaffinity(0, {1})
                wait_until_alive(process, f"http://127.0.0.1:{port}")
                key = prepare(f"http://127.0.0.1:{port}")
                before = cpu_seconds(process.pid)
                took = asyncio.run(load(port, key, seconds, connections))
                spent = cpu_seconds(process.pid) - before
            finally:
                process.terminate()
                process.wait()
    report(took, seconds, connections, spent, seconds + 2)


def report(took: list[float], seconds: float, connections: int, spent: float, wall: float) -> None:
    cuts = statistics.quantiles(took, n=100)
    sys.stdout.write(
        f"{len(took) / seconds:.0f} messages/s with {connections} connections; "
        f"p50 {cuts[49] * 1000:.1f} ms, p95 {cuts[94] * 1000:.1f} ms, p99 {cuts[98] * 1000:.1f} ms; "
        f"gateway used {spent / wall * 100:.0f} % of its core\n"
    )


if __name__ == "__main__":
    main(float(sys.argv[1]) if len(sys.argv) > 1 else 10, int(sys.argv[2]) if len(sys.argv) > 2 else 8)
