"""How late bubbles leave when one of two clocks is killed: `python tests/bench/lateness.py [bubbles] [seconds]`.

So many held replies fall due within so many seconds, spread over organisations; two clocks, two send workers and a
receiver on this machine's loopback. Half-way one clock gets SIGKILL. Prints a table, asserts nothing.
"""

import asyncio
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import psutil
import psycopg

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from schemas.resources import OrganizationSpec, PersonaSpec, stored  # noqa: E402
from tests import servers  # noqa: E402
from tests.builders_storage import QUICK  # noqa: E402
from tests.upstream import SECRET  # noqa: E402

ORGANISATIONS = 40
WORKERS = 2
LEAD_SECONDS = 3.0
PATIENCE = 60.0

FILL = """
INSERT INTO organizations (name, spec, version) SELECT 'org-' || g, %(org)s, 1 FROM generate_series(1, %(orgs)s) g;
INSERT INTO personas (org_id, name, spec, version) SELECT id, 'maya', %(persona)s, 1 FROM organizations;
INSERT INTO contacts (org_id, name, profile)
  SELECT 1 + g %% %(orgs)s, 'fan-' || g, '{}' FROM generate_series(1, %(bubbles)s) g;
INSERT INTO conversations (org_id, persona_id, contact_id, name, inbound_seq)
  SELECT k.org_id, p.id, k.id, k.name, 1 FROM contacts k JOIN personas p ON p.org_id = k.org_id;
INSERT INTO jobs (org_id, conversation_id, queue, state, inbound_seq, first_message_at)
  SELECT org_id, id, 'send', 'held', 1, now() FROM conversations;
INSERT INTO candidates (org_id, job_id, conversation_id, ordinal, kind, state, text)
  SELECT org_id, id, conversation_id, 0, 'text', 'held', 'coucou' FROM jobs
"""
DUE = "UPDATE jobs SET due_at = clock_timestamp() + make_interval(secs => %s + random() * %s)"
LEFT = """
SELECT extract(epoch FROM e.at - CAST(e.facts ->> 'due_at' AS timestamptz))::float8 AS claimed,
       extract(epoch FROM d.ended_at - CAST(e.facts ->> 'due_at' AS timestamptz))::float8 AS accepted
FROM job_events e JOIN deliveries d ON d.job_id = e.job_id AND d.state = 'accepted' WHERE e.to_state = 'sending'
"""


def processor_seconds() -> dict[str, float]:
    """User and system time of everything that takes part, by what it is."""
    spent: dict[str, float] = Counter()
    for child in psutil.Process().children(recursive=True):
        with suppress(psutil.Error):
            times, words = child.cpu_times(), child.cmdline()
            kind = next((k for k in ("clock", "worker", "postgres", "valkey") if any(k in w for w in words)), "other")
            spent[kind] += times.user + times.system
    own = psutil.Process().cpu_times()
    spent["receiver"] = own.user + own.system
    return spent


class Receiver:
    """Counts webhook ids, as cheaply as can be: what is measured is not the receiver."""

    def __init__(self) -> None:
        self.ids: Counter[str] = Counter()
        self.port = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower()
                await reader.readexactly(int(head.split("content-length: ")[1].split("\r\n")[0]))
                self.ids[head.split("webhook-id: ")[1].split("\r\n")[0]] += 1
                writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}")
        except (asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            writer.close()


def fill(database: str, bubbles: int, port: int) -> None:
    webhook = {"url": f"http://127.0.0.1:{port}/hook", "secret": SECRET}
    values = {
        "org": json.dumps(stored(OrganizationSpec.model_validate({"webhook": webhook}))),
        "persona": json.dumps(stored(PersonaSpec.model_validate(QUICK))),
        "orgs": ORGANISATIONS,
        "bubbles": bubbles,
    }
    with psycopg.connect(database) as connection:
        for statement in FILL.split(";\n"):
            connection.execute(statement.encode(), values)
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute("VACUUM ANALYZE")


@contextmanager
def process(environment: dict[str, str], log: Path, *arguments: str) -> Iterator["subprocess.Popen[bytes]"]:
    command = [sys.executable, "-m", "tests.worker_process", *arguments]
    with log.open("wb") as out:
        running = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=out, stderr=out)
    try:
        yield running
    finally:
        running.send_signal(signal.SIGTERM)
        try:
            running.wait(30)
        finally:
            running.kill()


async def all_started(logs: Path) -> None:
    end = time.monotonic() + 120
    while not all(b"_started" in log.read_bytes() for log in logs.iterdir()):
        if time.monotonic() > end:
            raise RuntimeError("the processes did not start within two minutes")
        await asyncio.sleep(0.2)


async def run(database: str, redis_url: str, bubbles: int, seconds: float) -> dict[str, Any]:
    receiver = Receiver()
    server = await asyncio.start_server(receiver.serve, "127.0.0.1", 0, backlog=1000)
    fill(database, bubbles, server.sockets[0].getsockname()[1])
    environment = {
        **os.environ,
        "DATABASE_URL": database,
        "REDIS_URL": redis_url,
        "REPLIQUE_ALLOW_PRIVATE_URLS": "true",
        "PYTHONPATH": str(ROOT),
    }
    with ExitStack() as children:
        logs = Path(children.enter_context(tempfile.TemporaryDirectory()))
        for n in range(WORKERS):
            children.enter_context(process(environment, logs / f"worker-{n}", "worker", "send", "1", "64"))
        victim, _ = (children.enter_context(process(environment, logs / f"clock-{n}", "clock")) for n in range(2))
        await all_started(logs)
        with psycopg.connect(database, autocommit=True) as connection:
            connection.execute(DUE, (LEAD_SECONDS, seconds))
        sys.stdout.write(f"{bubbles} bubbles fall due from now + {LEAD_SECONDS:.0f} s\n")
        sys.stdout.flush()
        began = time.monotonic()
        before = processor_seconds()
        await asyncio.sleep(LEAD_SECONDS + seconds / 2)
        killed = psutil.Process(victim.pid).cpu_times()
        victim.kill()
        while len(receiver.ids) < bubbles and time.monotonic() - began < LEAD_SECONDS + seconds + PATIENCE:
            await asyncio.sleep(0.1)
        await asyncio.sleep(1)
        after = processor_seconds()
        after["clock"] += killed.user + killed.system
    server.close()
    with psycopg.connect(database) as connection:
        rows = connection.execute(LEFT).fetchall()
        sent = connection.execute("SELECT count(*) FROM jobs WHERE state = 'sent'").fetchall()[0][0]
    posted_twice = sum(n > 1 for n in receiver.ids.values())
    spent = {kind: after[kind] - before.get(kind, 0.0) for kind in sorted(after)}
    return {"spent": spent, "rows": rows, "sent": sent, "received": len(receiver.ids), "twice": posted_twice}


def report(found: dict[str, Any], bubbles: int, seconds: float) -> None:
    load = os.getloadavg()[0]
    sys.stdout.write(
        f"{bubbles} bubbles due within {seconds:.0f} s, one of two clocks killed half-way, {WORKERS} send workers, "
        f"{os.cpu_count()} cores (load {load:.1f})\n"
        f"{'lateness (s)':<26}{'p50':>8}{'p95':>8}{'p99':>8}{'max':>8}\n"
    )
    for column, name in enumerate(("due to left", "due to accepted")):
        late = sorted(row[column] for row in found["rows"])
        cuts = statistics.quantiles(late, n=100)
        sys.stdout.write(f"{name:<26}{cuts[49]:>8.3f}{cuts[94]:>8.3f}{cuts[98]:>8.3f}{late[-1]:>8.3f}\n")
    each = "  ".join(f"{kind} {1000 * seconds / bubbles:.2f}" for kind, seconds in found["spent"].items())
    total = 1000 * sum(found["spent"].values()) / bubbles
    sys.stdout.write(f"processor time, ms per bubble: {each}  in all {total:.2f}\n")
    missing = bubbles - found["received"]
    sys.stdout.write(
        f"sent {found['sent']}, not received within {PATIENCE:.0f} s {missing}, posted again under the same id "
        f"{found['twice']}\n"
    )


def main(bubbles: int, seconds: float) -> None:
    with servers.postgres() as server, servers.valkey() as redis_url:
        servers.make_template(server)
        with servers.database(server) as database:
            report(asyncio.run(run(database, redis_url, bubbles, seconds)), bubbles, seconds)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 2_000, float(sys.argv[2]) if len(sys.argv) > 2 else 10.0)
