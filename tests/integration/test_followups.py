"""The hour of a follow-up has come, and several clocks see it."""

import asyncio
from collections import Counter
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from pipelines.autoreply.followup import next_time, postponed
from pipelines.hours import is_open
from schemas.claims import Claim
from schemas.conversation import FollowUp, Trigger
from schemas.decisions import Silence, SilenceReason
from schemas.ids import ConversationId, JobId
from schemas.jobs import AutoReply
from schemas.strategy import Resolved, RuleOutcome
from tests.builders import a_case
from tests.builders_storage import Storage, a_reply, a_step, a_storage, open_hours
from workers.adapters.postgres.followups import BATCH
from workers.adapters.postgres.habits import StoredHabits

OPEN = {"proactive_hours": open_hours()}
SOON = datetime.now(UTC) + timedelta(hours=1)


async def left_on_seen(storage: Storage, *names: str) -> None:
    """Each in a conversation of its own; the time of its follow-up has come."""
    for name in names:
        await storage.say(f"m-{name}", conversation=name, contact={"id": name})
        silence = Silence(SilenceReason.LEFT_ON_READ, detail=f"{name} dort", read=True, follow_up_at=SOON)
        await storage.transitions.record(await storage.claim(), silence)
    await storage.rows("UPDATE conversations SET follow_up_at = clock_timestamp() WHERE follow_up_at IS NOT NULL")


async def follow_ups(storage: Storage) -> list[dict[str, Any]]:
    return await storage.rows(
        "SELECT c.name, j.state, j.trigger, j.inbound_seq FROM jobs j JOIN conversations c ON c.id = j.conversation_id"
        " WHERE j.kind = 'follow_up' ORDER BY j.id"
    )


async def many(storage: Storage, count: int) -> None:
    """Conversations whose last word was ours, and whose follow-up is due."""
    await storage.rows(
        f"INSERT INTO contacts (org_id, name, profile) SELECT {storage.org}, 'f' || n, '{{}}'"
        f" FROM generate_series(1, {count}) n"
    )
    await storage.rows(
        "INSERT INTO conversations (org_id, persona_id, contact_id, name, inbound_seq, follow_up_at)"
        " SELECT org_id, (SELECT id FROM personas), id, name, 1, clock_timestamp() FROM contacts"
    )


async def test_two_clocks_make_one_job_of_each(database_url: str) -> None:
    async with a_storage(database_url, OPEN) as storage:
        await many(storage, 3 * BATCH)

        made = [sum(await asyncio.gather(*(storage.transitions.follow_up() for _ in range(6)))) for _ in range(4)]

        found = await follow_ups(storage)
        assert Counter(Counter(row["name"] for row in found).values()) == {1: 3 * BATCH}
        assert sum(made) == 3 * BATCH
        assert (await storage.row("SELECT count(follow_up_at) AS n FROM conversations"))["n"] == 0
        assert await storage.rows("SELECT text FROM messages") == []


async def test_a_look_takes_some_and_leaves_the_rest_for_the_next(database_url: str) -> None:
    async with a_storage(database_url, OPEN) as storage:
        await many(storage, BATCH + 1)

        assert [await storage.transitions.follow_up() for _ in range(3)] == [BATCH, 1, 0]


async def test_what_somebody_is_changing_is_passed_over_and_seen_again(database_url: str) -> None:
    async with a_storage(database_url, OPEN) as storage:
        await left_on_seen(storage, "a", "b")
        async with storage.database.engine.connect() as other:
            await other.exec_driver_sql("SELECT id FROM conversations WHERE name = 'a' FOR NO KEY UPDATE")
            busy = await storage.transitions.follow_up(), [row["name"] for row in await follow_ups(storage)]
            await other.rollback()
        await storage.transitions.follow_up()

        assert busy == (1, ["b"])
        assert [row["name"] for row in await follow_ups(storage)] == ["b", "a"]


async def claimed(storage: Storage) -> Claim:
    job = await storage.job()
    hint = AutoReply(conversation=ConversationId(job["conversation_id"]), job=JobId(job["id"]))
    claim = await storage.transitions.claim_run(hint)
    assert claim is not None
    return claim


async def test_its_run_knows_that_nobody_wrote_and_why(database_url: str) -> None:
    async with a_storage(database_url, OPEN) as storage:
        await left_on_seen(storage, "a")
        await storage.rows(
            "INSERT INTO jobs (org_id, conversation_id, queue, state, reason, note, inbound_seq, first_message_at)"
            " SELECT org_id, conversation_id, 'reply', 'silent', 'bot_loop', 'too fast', 1, clock_timestamp() FROM jobs"
        )
        await storage.transitions.follow_up()
        first = await claimed(storage)
        await storage.transitions.record(first, Silence(SilenceReason.LEFT_ON_READ, follow_up_at=SOON))
        await storage.rows("UPDATE conversations SET follow_up_at = clock_timestamp()")
        await storage.transitions.follow_up()
        second = await claimed(storage)

        assert (first.case.trigger, first.case.follow_up) == (Trigger.FOLLOW_UP, FollowUp(1, "a dort"))
        assert second.case.follow_up == FollowUp(2, None)
        assert [turn.answered for turn in first.case.turns] == [True]


async def test_an_answer_is_no_follow_up(database_url: str) -> None:
    async with a_storage(database_url, OPEN) as storage:
        await storage.say()

        assert (await storage.claim()).case.follow_up is None


async def test_drafted_again_it_is_still_a_follow_up(database_url: str) -> None:
    async with a_storage(database_url, OPEN) as storage:
        await left_on_seen(storage, "a")
        await storage.transitions.follow_up()
        claim = await claimed(storage)
        await storage.transitions.record(claim, a_reply("coucou ?"))
        await storage.transitions.regenerate(storage.org, claim.job, "zoe", "plus court")

        case = (await claimed(storage)).case
        assert (case.trigger, case.instruction, case.follow_up) == (
            Trigger.REGENERATE,
            "plus court",
            FollowUp(1, "a dort"),
        )


async def test_in_a_pause_it_is_due_when_the_pause_ends(database_url: str) -> None:
    async with a_storage(database_url, OPEN) as storage:
        await left_on_seen(storage, "a")
        await storage.rows("UPDATE conversations SET paused_until = :soon", soon=SOON)
        await storage.transitions.follow_up()

        job = await storage.job()
        assert (job["kind"], job["state"], job["due_at"], job["dispatched_at"]) == ("follow_up", "queued", SOON, None)


@pytest.mark.parametrize("verb", ["approve", "release_hold"])
async def test_an_approval_that_comes_late_plans_the_same_hour_of_a_later_day(database_url: str, verb: str) -> None:
    async with a_storage(database_url, {"autonomy": "draft", "timezone": "Africa/Lagos"}) as storage:
        await storage.say()
        yesterday = SOON - timedelta(days=3, hours=2)
        silence = Silence(SilenceReason.LEFT_ON_READ, detail="il dort", read=True, follow_up_at=yesterday)
        await storage.transitions.record(await storage.claim(), silence)
        job = JobId((await storage.job())["id"])
        await getattr(storage.transitions, verb)(storage.org, job, "zoe")

        kept = await storage.job()
        assert (kept["state"], kept["reason"], kept["note"], kept["on_hold"]) == (
            "silent",
            "left_on_read",
            "il dort",
            False,
        )
        assert (await storage.conversation())["follow_up_at"] == SOON - timedelta(hours=2) + timedelta(days=1)


async def test_who_approves_a_silence_is_in_the_events_and_in_the_audit_log(database_url: str) -> None:
    async with a_storage(database_url, {"autonomy": "draft"}) as storage:
        await storage.say()
        await storage.transitions.record(await storage.claim(), Silence(SilenceReason.PAUSED, paused_until=SOON))
        await storage.transitions.approve(storage.org, JobId((await storage.job())["id"]), "zoe")

        event = await storage.row("SELECT who, from_state, to_state, why FROM job_events ORDER BY id DESC LIMIT 1")
        audit = await storage.row("SELECT who, action, subject FROM audit_log ORDER BY id DESC LIMIT 1")
        assert event == {"who": "zoe", "from_state": "held", "to_state": "silent", "why": "paused"}
        assert audit == {"who": "zoe", "action": "job.approved", "subject": "job_1"}
        assert (await storage.conversation())["paused_until"] == SOON


async def test_a_rule_may_ask_for_the_approval_and_is_still_known_after_it(database_url: str) -> None:
    careful = Resolved(rules=(RuleOutcome(rule="careful", outcome="applied"),), autonomy="draft")
    async with a_storage(database_url, {"autonomy": "window"}) as storage:
        await storage.say("m-1")
        silence = Silence(SilenceReason.LEFT_ON_READ, read=True, strategy=careful)
        await storage.transitions.record(await storage.claim(), silence)
        held = await storage.row("SELECT id, state, rules FROM jobs")

        await storage.transitions.approve(storage.org, JobId(held["id"]), "zoe")

        kept = [{"rule": "careful", "outcome": "applied"}]
        assert (held["state"], held["rules"]) == ("held", kept)
        assert await storage.row("SELECT state, rules FROM jobs") == {"state": "silent", "rules": kept}


@pytest.mark.parametrize("reason", [SilenceReason.BOT_LOOP, SilenceReason.NOTHING_TO_ANSWER])
async def test_a_silence_that_nobody_chose_needs_no_approval(database_url: str, reason: SilenceReason) -> None:
    async with a_storage(database_url, {"autonomy": "draft"}) as storage:
        await storage.say()
        await storage.transitions.record(await storage.claim(), Silence(reason))

        assert (await storage.job())["state"] == "silent"


@pytest.mark.parametrize(
    ("persona", "organization", "engine"),
    [
        ({}, {}, "v2"),
        ({"engine": "v1"}, {}, "v1"),
        ({}, {"agent": {"Enable": False}}, "v1"),
        ({"agent": {"Enable": True}}, {"agent": {"Enable": False}}, "v2"),
    ],
)
async def test_the_job_says_which_engine_answers(
    database_url: str, persona: dict[str, Any], organization: dict[str, Any], engine: str
) -> None:
    async with a_storage(database_url, persona, organization) as storage:
        await storage.say()
        await storage.claim()

        assert (await storage.job())["engine"] == engine


@pytest.mark.parametrize(("steps", "engine"), [(1, "v2"), (0, "v1")])
async def test_a_run_that_has_begun_keeps_its_engine(database_url: str, steps: int, engine: str) -> None:
    async with a_storage(database_url) as storage:
        await storage.say()
        claim = await storage.claim()
        for n in range(steps):
            await storage.transitions.save_step(claim, a_step(claim, n + 1), None)
        await storage.rows("""UPDATE personas SET version = version + 1, spec = spec || '{"engine": "v1"}'""")
        await storage.expire_leases()
        await storage.claim()

        assert (await storage.job())["engine"] == engine


PARIS = ZoneInfo("Europe/Paris")


HABIT = """
UPDATE messages SET created_at = clock_timestamp() - CAST(:ago AS interval) WHERE name = :name
"""


async def test_a_habit_is_what_the_contact_wrote_lately_wherever_they_wrote_it(database_url: str) -> None:
    async with a_storage(database_url, OPEN) as storage:
        for name, conversation, contact in (
            ("m-1", "c-1", "fan-7"),
            ("m-2", "c-2", "fan-7"),
            ("m-3", "c-2", "fan-7"),
            ("m-4", "c-1", "fan-7"),
            ("m-5", "c-3", "fan-8"),
        ):
            await storage.say(name, conversation=conversation, contact={"id": contact})
        await storage.say("m-6", author="operator")
        for name, ago in (("m-1", "89 days"), ("m-2", "1 hour"), ("m-3", "91 days"), ("m-4", "2 hours")):
            await storage.rows(HABIT, name=name, ago=ago)
        await storage.transitions.delete_message(storage.org, "m-4")
        contact = (await storage.row("SELECT id FROM contacts WHERE name = 'fan-7'"))["id"]

        written = await StoredHabits(storage.database).written(contact)

        kept = await storage.rows("SELECT created_at FROM messages WHERE name IN ('m-1', 'm-2')")
        assert sorted(written) == sorted(row["created_at"] for row in kept)


@pytest.mark.parametrize(
    ("hours", "saturday", "expected"),
    [
        # A contact who has written at none of these hours is written to as they begin.
        # 02:30 does not exist on the Sunday in March: the first minute that does. On that in October it comes twice.
        ("02:30-05:00", "2027-03-27T23:00+01:00", "2027-03-28T03:00+02:00"),
        ("02:30-05:00", "2026-10-24T23:00+02:00", "2026-10-25T02:30+02:00"),
        ("09:00-21:00", "2027-03-27T23:00+01:00", "2027-03-28T12:00+02:00"),
        ("09:00-21:00", "2026-10-24T23:00+02:00", "2026-10-25T12:00+01:00"),
        ("02:30-05:00", "2026-03-28T23:00+01:00", "2026-03-29T03:00+02:00"),
        ("02:30-05:00", "2027-10-30T23:00+02:00", "2027-10-31T02:30+02:00"),
    ],
)
async def test_across_the_sundays_on_which_clocks_change_it_comes_once_at_a_time_that_exists(
    database_url: str, hours: str, saturday: str, expected: str
) -> None:
    """Planned by the run on Saturday; then it is that time, and several clocks look more than once."""
    now = datetime.fromisoformat(saturday)
    spec = {"proactive_hours": hours, "timezone": "Europe/Paris"}
    planned = await next_time(a_case(now=now, persona=spec), None)
    assert planned is not None
    async with a_storage(database_url, OPEN) as storage:
        await storage.say("m-1")
        silence = Silence(SilenceReason.LEFT_ON_READ, read=True, follow_up_at=planned)
        await storage.transitions.record(await storage.claim(), silence)
        kept = (await storage.conversation())["follow_up_at"]
        await storage.rows("UPDATE conversations SET follow_up_at = clock_timestamp()")
        made = [sum(await asyncio.gather(*(storage.transitions.follow_up() for _ in range(3)))) for _ in range(2)]

        local = kept.astimezone(PARIS)
        assert local.isoformat(timespec="minutes") == expected
        assert local.astimezone(UTC).astimezone(PARIS).replace(tzinfo=None) == local.replace(tzinfo=None)
        assert is_open(hours, kept, PARIS)
        assert postponed(hours, kept, "Europe/Paris") is None
        assert (made, len(await follow_ups(storage))) == ([1, 0], 1)
