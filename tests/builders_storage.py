"""A migrated database with one organisation and persona, the real transitions on it, and short ways to look at it."""

import json
import random
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

from sqlalchemy import text

from schemas.agent import Step
from schemas.claims import Claim, Posting, Preparing
from schemas.conversation import BubbleKind
from schemas.decisions import Bubble, Reply
from schemas.http import Ingested, MessageIn
from schemas.ids import JobId, OrgId, call_id, number_of
from schemas.jobs import AutoReply, DelayedSend, Hint
from schemas.llm import Model, Reservation, SettledCall, Task, Usage
from schemas.resources import OrganizationSpec, PersonaSpec, stored
from schemas.settings import Settings
from workers.adapters.postgres.database import Database
from workers.adapters.postgres.transitions import Transitions

MODEL = Model("anthropic", "claude-haiku-5-5")
WEBHOOK = {"url": "https://app.example/hook", "secret": "whsec_" + "c2VjcmV0LXNlY3JldC1zZWNyZXQtc2VjcmV0"}
QUICK = {
    "debounce": {"quiet_seconds": 0, "max_wait_seconds": 0},
    "control_window_seconds": 0,
    "pacing": {"base_ms": 0, "per_char_ms": 0, "jitter": 0},
    "disclosure": {"notice": False},
}
"""A persona for whom everything is due at once."""


def open_hours() -> str:
    """Hours of a day that have begun and last for long, on a clock of UTC."""
    now = datetime.now(UTC)
    return f"{now - timedelta(hours=2):%H:%M}-{now + timedelta(hours=10):%H:%M}"


def closed_hours() -> str:
    """Hours that begin in four hours on a clock of UTC; on one five hours ahead they have begun."""
    now = datetime.now(UTC)
    return f"{now + timedelta(hours=4):%H:%M}-{now + timedelta(hours=8):%H:%M}"


@dataclass(slots=True)
class HeardCourier:
    """A courier that only remembers."""

    heard: list[Hint] = field(default_factory=list)

    async def push(self, hints: Sequence[Hint]) -> None:
        self.heard.extend(hints)


@dataclass(slots=True)
class Storage:
    database: Database
    transitions: Transitions
    courier: HeardCourier
    org: OrgId

    async def rows(self, sql: str, **values: Any) -> list[dict[str, Any]]:
        """What a statement of the test answers. It is marked, so that nobody takes it for one of the product's."""
        async with self.database.transaction() as connection:
            result = await connection.execute(text(f"/* test */ {sql}"), values)
            return [dict(row) for row in result.mappings()] if result.returns_rows else []

    async def row(self, sql: str, **values: Any) -> dict[str, Any]:
        (row,) = await self.rows(sql, **values)
        return row

    async def say(self, name: str = "m-1", **changes: Any) -> Ingested:
        return await self.transitions.ingest(self.org, a_message(name, **changes))

    async def job(self, number: JobId | None = None) -> dict[str, Any]:
        """The job of that number, else the newest."""
        which = "id = :job" if number is not None else "id = (SELECT max(id) FROM jobs)"
        return await self.row(f"SELECT * FROM jobs WHERE {which}", **({} if number is None else {"job": number}))

    async def conversation(self) -> dict[str, Any]:
        return await self.row("SELECT * FROM conversations")

    async def candidates(self) -> list[tuple[int, str, str, str]]:
        """(ordinal, kind, state, text) of every bubble, oldest reply first."""
        rows = await self.rows("SELECT ordinal, kind, state, text FROM candidates ORDER BY job_id, ordinal")
        return [(row["ordinal"], row["kind"], row["state"], row["text"]) for row in rows]

    async def claim(self) -> Claim:
        """The newest job, claimed; fails when it cannot be."""
        claimed = await self.try_claim()
        assert claimed is not None
        return claimed

    async def try_claim(self) -> Claim | None:
        job = await self.job()
        return await self.transitions.claim_run(AutoReply(conversation=job["conversation_id"], job=job["id"]))

    async def send(self) -> Posting:
        posting = await self.try_send()
        assert isinstance(posting, Posting)
        return posting

    async def try_send(self) -> Posting | Preparing | None:
        job = await self.job()
        return await self.transitions.claim_send(DelayedSend(conversation=job["conversation_id"], job=job["id"]))

    async def expire_leases(self) -> None:
        """What the clock does when a worker has not renewed in time."""
        for table in ("jobs", "deliveries"):
            await self.rows(
                f"UPDATE {table} SET lease_until = NULL, dispatched_at = NULL, due_at = clock_timestamp()"
                " WHERE lease_until IS NOT NULL"
            )

    async def make_due(self) -> None:
        for table in ("jobs", "deliveries"):
            await self.rows(f"UPDATE {table} SET due_at = clock_timestamp() WHERE due_at IS NOT NULL")

    async def make_newest_due(self) -> None:
        await self.rows("UPDATE jobs SET due_at = clock_timestamp() WHERE id = (SELECT max(id) FROM jobs)")

    async def hold(self, *texts: str) -> JobId:
        """A message came and was answered with these bubbles, which wait in their window."""
        said = await self.say()
        claim = await self.claim()
        await self.transitions.record(claim, a_reply(*texts))
        return job_of(said)


def job_of(said: Ingested) -> JobId:
    number = number_of("job", said.job or "")
    assert number is not None
    return JobId(number)


def a_message(name: str = "m-1", **changes: Any) -> MessageIn:
    fields: dict[str, Any] = {
        "id": name,
        "conversation": "c-1",
        "persona": "maya",
        "author": "contact",
        "contact": {"id": "fan-7"},
        "text": "coucou",
    }
    return MessageIn.model_validate(fields | changes)


def a_reply(*texts: str) -> Reply:
    return Reply(tuple(Bubble(BubbleKind.TEXT, words) for words in texts or ("salut",)))


def a_reservation(claim: Claim, n: int = 1) -> Reservation:
    return Reservation(call_id(claim.resume.run, n, claim.fence), Task.REPLY, MODEL, Decimal("0.004"))


def a_call(claim: Claim, n: int = 1, **changes: Any) -> SettledCall:
    fields: dict[str, Any] = {"outcome": "ok", "usage": Usage(input=100, output=20), "cost_usd": Decimal("0.001")}
    return SettledCall(call_id(claim.resume.run, n, claim.fence), Task.REPLY, MODEL, **(fields | changes))


def a_step(claim: Claim, n: int = 1) -> Step:
    return Step(n, Task.REPLY, '[{"b":1,"a":1e2}]', a_call(claim, n), active_seconds=float(n))


@asynccontextmanager
async def a_storage(
    database_url: str,
    persona: dict[str, Any] | None = None,
    organization: dict[str, Any] | None = None,
    settings: Settings | None = None,
    pool_size: int = 8,
    kind: type[Transitions] = Transitions,
    chance: Callable[[], float] = random.random,
) -> AsyncIterator[Storage]:
    database = Database(database_url, pool_size=pool_size)
    courier = HeardCourier()
    transitions = kind(database, settings or Settings(), courier, "tests", chance)
    try:
        async with database.transaction() as connection:
            spec = OrganizationSpec.model_validate({"webhook": WEBHOOK} | (organization or {}))
            made = await connection.execute(
                text("INSERT INTO organizations (name, spec, version) VALUES ('acme', :spec, 1) RETURNING id"),
                {"spec": json.dumps(stored(spec))},
            )
            org = OrgId(made.scalar_one())
            own = PersonaSpec.model_validate(QUICK | (persona or {}))
            await connection.execute(
                text("INSERT INTO personas (org_id, name, spec, version) VALUES (:org, 'maya', :spec, 1)"),
                {"org": org, "spec": json.dumps(stored(own))},
            )
        yield Storage(database, transitions, courier, org)
    finally:
        await database.close()
