"""A reply whose window closes in the contact's night leaves in the contact's morning."""

from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from schemas.claims import Accepted, Posted, Refused, Unknown
from schemas.jobs import Deliver
from tests.builders_storage import Storage, a_reply, a_storage


def around(zone: str, before: int, after: int) -> tuple[str, datetime]:
    """Hours around now on a clock in `zone` (one that is never changed), and when they end (in UTC, to the minute)."""
    now = datetime.now(UTC).astimezone(ZoneInfo(zone)).replace(second=0, microsecond=0)
    first, last = now + timedelta(minutes=before), now + timedelta(minutes=after)
    return f"{first:%H:%M}-{last:%H:%M}", last.astimezone(UTC)


async def held_until(storage: Storage, **contact: Any) -> Any:
    await storage.say(contact={"id": "fan-7", **contact})
    await storage.transitions.record(await storage.claim(), a_reply("un", "deux"))
    assert await storage.try_send() is None
    return (await storage.job())["due_at"]


@pytest.mark.parametrize(
    ("contact", "persona", "organization", "zone"),
    [
        ("Asia/Tokyo", "Africa/Lagos", "UTC", "Asia/Tokyo"),
        (None, "America/Bogota", "UTC", "America/Bogota"),
        (None, None, "Australia/Brisbane", "Australia/Brisbane"),
    ],
    ids=["contact's", "else the persona's", "else the organisation's"],
)
async def test_the_clock_that_counts(
    database_url: str, contact: str | None, persona: str | None, organization: str, zone: str
) -> None:
    hours, end = around(zone, -60, 90)
    where = {"quiet_hours": hours, "timezone": persona}
    async with a_storage(database_url, persona=where, organization={"timezone": organization}) as storage:
        due = await held_until(storage, **({"timezone": contact} if contact else {}))
        job = await storage.job()
        event = await storage.row("SELECT who, from_state, to_state, why FROM job_events ORDER BY id DESC LIMIT 1")
        bubbles = await storage.candidates()

    assert due == end
    assert (job["state"], job["dispatched_at"]) == ("held", None)
    assert event == {"who": "worker", "from_state": "held", "to_state": "held", "why": "quiet_hours"}
    assert [state for _, _, state, _ in bubbles] == ["held", "held"]


async def test_outside_of_them_it_leaves(database_url: str) -> None:
    hours, _ = around("Africa/Lagos", 60, 120)
    async with a_storage(database_url, persona={"quiet_hours": hours, "timezone": "Africa/Lagos"}) as storage:
        await storage.hold("un")
        await storage.transitions.settle(await storage.send(), Accepted())

        assert (await storage.job())["state"] == "sent"


async def test_what_the_contact_writes_in_the_night_replaces_what_was_held_back(database_url: str) -> None:
    hours, end = around("UTC", -60, 90)
    async with a_storage(database_url, persona={"quiet_hours": hours}) as storage:
        await held_until(storage)
        await storage.say("m-2")
        await storage.transitions.record(await storage.claim(), a_reply("un", "deux"))
        held_back = await storage.try_send()
        jobs = await storage.rows("SELECT state, due_at FROM jobs ORDER BY id")

    assert held_back is None
    assert jobs == [{"state": "superseded", "due_at": None}, {"state": "held", "due_at": end}]


@pytest.mark.parametrize(
    ("answered", "repeated"),
    [(Refused("503", final=False), False), (Unknown("timed out"), True)],
    ids=["refused: in the morning", "it may have been shown: at once"],
)
async def test_night_that_falls_between_two_attempts(database_url: str, answered: Posted, repeated: bool) -> None:
    hours, end = around("UTC", -60, 90)
    async with a_storage(database_url) as storage:
        await storage.hold("un")
        posting = await storage.send()
        await storage.transitions.settle(posting, answered)
        await storage.rows(
            "UPDATE personas SET version = version + 1,"
            " spec = jsonb_set(spec, '{quiet_hours}', to_jsonb(CAST(:hours AS text)))",
            hours=hours,
        )
        await storage.make_due()
        again = await storage.transitions.claim_delivery(Deliver(conversation=1, delivery=posting.delivery))
        bubble = await storage.row(
            "SELECT state, attempts, due_at, dispatched_at FROM deliveries WHERE candidate_id IS NOT NULL"
        )
        event = await storage.row("SELECT from_state, to_state, why FROM job_events ORDER BY id DESC LIMIT 1")

    assert (again is not None) is repeated
    if repeated:
        assert (bubble["state"], bubble["attempts"]) == ("posting", 2)
    else:
        assert bubble == {"state": "waiting", "attempts": 1, "due_at": end, "dispatched_at": None}
        assert event == {"from_state": "sending", "to_state": "sending", "why": "quiet_hours"}
