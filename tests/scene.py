"""A gateway with one conversation, and short ways to walk it through the table of transitions.

People act over HTTP; what workers do is done with the hints that the queue would bring them.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import text

from schemas.claims import Accepted, Claim, Posted, Posting, Preparing, Recorded
from schemas.decisions import Decision, Silence, SilenceReason
from schemas.jobs import AutoReply, DelayedSend, Deliver
from schemas.payments import Offering
from tests.builders_face import Gateway, a_gateway
from tests.builders_storage import QUICK, WEBHOOK, a_reply
from workers.adapters.postgres.transitions import Transitions

SOON = datetime.now(UTC) + timedelta(hours=1)
PERSONA: dict[str, Any] = QUICK | {"name": "maya", "control_window_seconds": 45}


@dataclass
class Scene:
    gateway: Gateway
    key: str
    said: int = 0
    answers: list[int] = field(default_factory=list)

    @property
    def storage(self) -> Transitions:
        return self.gateway.parts.transitions

    # ------------------------------------------------------------ people

    async def call(self, method: str, path: str, body: Any = None, key: str | None = None) -> Any:
        """The body of the answer; its status is kept in `answers`."""
        answer = await self.gateway.call(method, f"/v1/{path}", body, key=key or self.key)
        self.answers.append(answer.status_code)
        return answer.json()

    async def say(
        self, author: str = "contact", name: str | None = None, text: str = "coucou", conversation: str = "c-1"
    ) -> Any:
        self.said += name is None
        body = {"id": name or f"m-{self.said}", "conversation": conversation, "persona": "maya", "author": author}
        return await self.call("POST", "messages", body | {"contact": {"id": "fan-7"}, "text": text})

    async def steer(self, verb: str, body: Any = None, job: int | None = None) -> Any:
        """`hold`, `cancel` …, of that job, else of the newest."""
        return await self.call("POST", f"jobs/job_{job or await self.newest()}/{verb}", body)

    async def conversation(self, verb: str, body: Any = None, key: str | None = None) -> Any:
        return await self.call("POST", f"conversations/c-1/{verb}", body, key)

    async def edit(self, bubble: int, **changes: Any) -> Any:
        return await self.call("PATCH", f"candidates/bub_{bubble}", changes)

    async def drop(self, bubble: int) -> Any:
        return await self.call("DELETE", f"candidates/bub_{bubble}")

    # ------------------------------------------------------------ workers

    async def claim(self) -> Claim | None:
        return await self.storage.claim_run(AutoReply(conversation=1, job=await self.newest()))

    async def decide(self, decision: Decision) -> Recorded:
        claim = await self.claim()
        assert claim is not None
        return await self.storage.record(claim, decision)

    async def reply(self, *texts: str) -> None:
        """A message came and was answered with these bubbles, which wait."""
        await self.say()
        await self.decide(a_reply(*texts))

    async def take(self) -> Posting | Preparing | Offering | None:
        return await self.storage.claim_send(DelayedSend(conversation=1, job=await self.newest()))

    async def leave(self) -> Posting:
        """The window is over: the next bubble is being posted."""
        await self.make_due()
        posting = await self.take()
        assert isinstance(posting, Posting)
        return posting

    async def send(self, posted: Posted | None = None) -> None:
        await self.storage.settle(await self.leave(), posted or Accepted())

    async def carry(self) -> Posting | None:
        """A webhook that waits for another attempt."""
        number = await self.one("SELECT max(id) FROM deliveries WHERE candidate_id IS NOT NULL")
        return await self.storage.claim_delivery(Deliver(conversation=1, delivery=number))

    # ------------------------------------------------------------ the clock

    async def leave_on_read(self, **more: Any) -> None:
        """The contact wrote, and was left on seen: it is time to write first now."""
        await self.say()
        await self.decide(Silence(SilenceReason.LEFT_ON_READ, read=True, **{"follow_up_at": SOON} | more))
        await self.make_follow_up_due()

    async def make_follow_up_due(self) -> None:
        await self.one("UPDATE conversations SET follow_up_at = clock_timestamp() WHERE follow_up_at IS NOT NULL")

    async def follow_up(self) -> int:
        """The clock looks for follow-ups. Answers how many jobs it made."""
        return await self.storage.follow_up()

    # ------------------------------------------------------------ what stands

    async def one(self, sql: str, **values: Any) -> Any:
        return await self.gateway.run(sql, **values)

    async def newest(self) -> int:
        number: int = await self.one("SELECT max(id) FROM jobs")
        return number

    async def make_due(self) -> None:
        await self.one("UPDATE jobs SET due_at = clock_timestamp(), lease_until = NULL WHERE due_at IS NOT NULL")

    async def make_webhooks_due(self) -> None:
        await self.one("UPDATE deliveries SET due_at = clock_timestamp() WHERE due_at IS NOT NULL")

    async def expire_leases(self) -> None:
        """What the clock does when a worker has not renewed in time."""
        for table in ("jobs", "deliveries"):
            await self.one(
                f"UPDATE {table} SET lease_until = NULL, dispatched_at = NULL, due_at = clock_timestamp()"
                " WHERE lease_until IS NOT NULL"
            )

    async def lines(self, sql: str) -> list[str]:
        """Rows, each as its values with a blank between."""
        async with self.gateway.parts.counter._db.transaction() as connection:
            rows = await connection.execute(text(sql))
            return [" ".join(str(value) for value in row) for row in rows]

    async def jobs(self) -> list[str]:
        """`held 1`: state and what it answers, oldest first; with its code when it has one."""
        return await self.lines("SELECT concat_ws(' ', state, inbound_seq, code) FROM jobs ORDER BY id")

    async def bubbles(self) -> list[str]:
        """`0 text held un`, in the order of the replies and of their bubbles."""
        return await self.lines("SELECT ordinal, kind, state, text FROM candidates ORDER BY job_id, ordinal, id")

    async def due(self) -> str:
        """When the newest job moves by itself: `now`, `later` or `never`."""
        found: str = await self.one(
            "SELECT CASE WHEN due_at IS NULL THEN 'never' WHEN due_at <= clock_timestamp() THEN 'now' ELSE 'later' END"
            " FROM jobs ORDER BY id DESC LIMIT 1"
        )
        return found

    async def why(self) -> str:
        """`zoe hold`: who moved the newest job last, and why."""
        return (await self.lines("SELECT who, why FROM job_events ORDER BY id DESC LIMIT 1"))[0]


@asynccontextmanager
async def a_scene(database_url: str, persona: dict[str, Any] | None = None) -> AsyncIterator[Scene]:
    async with a_gateway(database_url) as gateway:
        wanted = PERSONA | (persona or {})
        if not wanted["disclosure"].get("notice", True):
            wanted = wanted | {"disclosure": {"notice": False, "accept": await _accepted(gateway)}}
        await gateway.organization("acme", wanted, webhook=WEBHOOK)
        yield Scene(gateway, await gateway.key("operator", "acme"))


async def _accepted(gateway: Gateway) -> Any:
    """The version of the responsibility that whoever turns the notice off takes on."""
    documents = [
        {"kind": "Organization", "name": "probe"},
        {"kind": "Persona", "name": "p", "disclosure": {"notice": False}},
    ]
    asked = await gateway.call("POST", "/v1/apply", {"resources": documents})
    return asked.json()["version"]
