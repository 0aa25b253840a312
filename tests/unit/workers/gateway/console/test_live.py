"""The stream of events: told what happened even when the database stumbles, and no longer than the session lasts."""

import asyncio
import json
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, cast

import pytest

from schemas.access import Role
from schemas.errors import Unavailable
from schemas.ids import OrgId
from schemas.users import Session, SessionId
from workers.adapters.postgres.sessions import Sessions
from workers.adapters.postgres.views.changes import Changed, Changes
from workers.adapters.postgres.views.desk import Counts, Desk
from workers.gateway.console.live import Hub, Stream

ORG = OrgId(1)
ANNA = Session(
    id=SessionId(1), user=None, key=None, who="anna", role=Role.OPERATOR, locale="fr", own=ORG, org=ORG,
    organization="acme", timezone="UTC", now=datetime(2026, 12, 1, tzinfo=UTC),
)  # fmt: skip


@dataclass
class Happenings:
    """What each look finds, in turn; an exception is raised. Then nothing, or, `busy`, the last again and again."""

    looks: list[set[str] | Exception]
    busy: bool = False

    async def since(self) -> dict[OrgId, Changed]:
        if not self.looks:
            return {}
        found = self.looks[0] if self.busy and len(self.looks) == 1 else self.looks.pop(0)
        if isinstance(found, Exception):
            raise found
        return {ORG: Changed(jobs=set(found))} if found else {}

    def forget(self) -> None:
        pass


@dataclass
class Numbers:
    """Counts in turn; an exception is raised."""

    answers: list[Exception] = field(default_factory=list)

    async def counts(self, org: OrgId) -> Counts:
        if self.answers:
            raise self.answers.pop(0)
        return Counts(1, 0, 0)


@dataclass
class SignedIn:
    there: bool = True
    asked: int = 0

    async def find(self, token: str, *, active: bool) -> Session | None:
        self.asked += 1
        return ANNA if self.there else None


def hub_of(looks: Happenings, numbers: Numbers | None = None) -> Hub:
    return Hub(cast(Changes, looks), cast(Desk, numbers or Numbers()), 0.01)


async def heard(hub: Hub, wanted: set[str], seconds: float = 2) -> set[str]:
    """What a page is told until it has heard all of it, or the time is over."""
    found: set[str] = set()
    with hub.listening(ORG) as page:
        try:
            async with asyncio.timeout(seconds):
                while not wanted <= found:
                    await page.bell.wait()
                    found |= page.take()[0].jobs
        except TimeoutError:
            pass
    return found


async def test_what_happened_is_told_though_the_database_did_not_count() -> None:
    hub = hub_of(Happenings([{"job_1"}, {"job_2"}]), Numbers([Unavailable("away")]))

    assert await heard(hub, {"job_1", "job_2"}) == {"job_1", "job_2"}


@pytest.mark.parametrize("fault", [Unavailable("away"), ValueError("a fault of ours")])
async def test_pages_are_told_again_after_a_look_that_failed(fault: Exception) -> None:
    hub = hub_of(Happenings([{"job_1"}, fault, {"job_2"}]))

    assert await heard(hub, {"job_1", "job_2"}) == {"job_1", "job_2"}


async def events(stream: Stream, told: list[dict[str, Any]]) -> None:
    async for event in stream.events():
        told.append(json.loads(event.decode().removeprefix("data: ")))


@pytest.mark.parametrize("busy", [True, False])
async def test_who_was_signed_out_is_told_nothing_more_however_much_happens(busy: bool) -> None:
    sessions, told = SignedIn(), list[dict[str, Any]]()
    stream = Stream(
        hub_of(Happenings([{"job_1"}], busy=busy)), cast(Sessions, sessions), ANNA, "token", ask_seconds=0.3
    )
    listening = asyncio.create_task(events(stream, told))
    await asyncio.sleep(1)
    assert (len(told) >= 2, listening.done()) == (True, False)
    sessions.there = False

    await asyncio.wait_for(listening, 3)


async def test_a_busy_stream_asks_for_its_session_now_and_then_not_each_time() -> None:
    sessions, told = SignedIn(), list[dict[str, Any]]()
    stream = Stream(hub_of(Happenings([{"job_1"}], busy=True)), cast(Sessions, sessions), ANNA, "token", ask_seconds=30)
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(events(stream, told), 1)

    assert (len(told) > 2, sessions.asked) == (True, 0)


async def test_a_stream_that_cannot_count_at_its_beginning_begins_without() -> None:
    told = list[dict[str, Any]]()
    hub = hub_of(Happenings([{"job_1"}]), Numbers([Unavailable("away")]))
    stream = Stream(hub, cast(Sessions, SignedIn()), ANNA, "token", ask_seconds=30)
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(events(stream, told), 1)

    assert ("counts" in told[0], [event["jobs"] for event in told[1:]]) == (False, [["job_1"]])
