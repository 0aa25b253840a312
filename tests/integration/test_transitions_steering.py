"""Operators: approve, cancel, take over, resume. A call that comes too late says what it found."""

import asyncio

import pytest

from schemas.claims import Accepted, CandidateState, Refused, Unknown
from schemas.errors import NotFound, TooLate
from schemas.ids import JobId, OrgId
from schemas.jobs import AutoReply, DelayedSend
from tests.builders_storage import Storage, a_reply, a_storage

DRAFT = {"autonomy": "draft"}


async def jobs(storage: Storage) -> list[tuple[str, int]]:
    rows = await storage.rows("SELECT state, inbound_seq FROM jobs ORDER BY id")
    return [(row["state"], row["inbound_seq"]) for row in rows]


async def test_approving_a_draft_sends_it_now(database_url: str) -> None:
    async with a_storage(database_url, DRAFT) as storage:
        job = await storage.hold("un")

        await storage.transitions.approve(storage.org, job, "zoe")

        event = await storage.row("SELECT who, why FROM job_events ORDER BY id DESC LIMIT 1")
        assert (storage.courier.heard[-1], event) == (
            DelayedSend(conversation=1, job=1),
            {"who": "zoe", "why": "send_now"},
        )
        assert '"text":"un"' in (await storage.send()).body


async def test_approving_above_the_cap_leaves_the_hint_to_the_clock(database_url: str) -> None:
    async with a_storage(database_url, DRAFT, organization={"limits": {"in_flight": 1}}) as storage:
        job = await storage.hold("un")
        heard = len(storage.courier.heard)
        await storage.rows(
            "INSERT INTO deliveries (webhook_id, type, body, state, org_id, queue, lease_until)"
            " SELECT 'x', 'x', '', 'posting', id, 'send', clock_timestamp() FROM organizations"
        )

        await storage.transitions.approve(storage.org, job, "zoe")

        row = await storage.job()
        assert (len(storage.courier.heard), row["dispatched_at"], row["due_at"] is not None) == (heard, None, True)


async def test_two_operators_approve_at_once_and_one_bubble_leaves(database_url: str) -> None:
    async with a_storage(database_url, DRAFT) as storage:
        job = await storage.hold("un")
        await asyncio.gather(*(storage.transitions.approve(storage.org, job, who) for who in ("zoe", "ana")))

        postings = await asyncio.gather(storage.try_send(), storage.try_send())

        assert sorted(posting is not None for posting in postings) == [False, True]


async def test_approving_what_is_not_held_says_who_moved_it(database_url: str) -> None:
    async with a_storage(database_url, DRAFT) as storage:
        job = await storage.hold("un")
        await storage.transitions.cancel(storage.org, job, "ana")

        with pytest.raises(TooLate) as late:
            await storage.transitions.approve(storage.org, job, "zoe")

        assert (late.value.state, late.value.by, late.value.at is not None) == ("cancelled", "ana", True)


async def test_another_organisations_job_is_not_found(database_url: str) -> None:
    async with a_storage(database_url, DRAFT) as storage:
        job = await storage.hold("un")
        stranger = OrgId(storage.org + 1)
        for call in (storage.transitions.approve, storage.transitions.cancel):
            with pytest.raises(NotFound):
                await call(stranger, job, "eve")
            with pytest.raises(NotFound):
                await call(None, JobId(99), "ops")
        for named in (storage.transitions.takeover, storage.transitions.resume):
            with pytest.raises(NotFound):
                await named(stranger, "c-1", "eve")

        assert await jobs(storage) == [("held", 1)]
        await storage.transitions.cancel(None, job, "ops")
        assert await jobs(storage) == [("cancelled", 1)]


async def test_cancelling_answers_every_candidate(database_url: str) -> None:
    async with a_storage(database_url) as storage:
        job = await storage.hold("un", "deux", "trois")
        await storage.transitions.settle(await storage.send(), Accepted())

        answer = await storage.transitions.cancel(storage.org, job, "zoe")

        assert answer == {
            1: CandidateState.SENT,
            2: CandidateState.RECALLED,
            3: CandidateState.RECALLED,
        }


async def test_cancelling_when_the_last_bubble_has_left_is_too_late_and_changes_nothing(database_url: str) -> None:
    async with a_storage(database_url) as storage:
        job = await storage.hold("un")
        posting = await storage.send()

        with pytest.raises(TooLate) as late:
            await storage.transitions.cancel(storage.org, job, "zoe")

        assert (late.value.state, await jobs(storage)) == ("sending", [("sending", 1)])
        await storage.transitions.settle(posting, Accepted())
        assert await jobs(storage) == [("sent", 1)]


@pytest.mark.parametrize(("posted", "stopped"), [(Refused("503", final=False), True), (Unknown("timed out"), False)])
async def test_a_bubble_between_attempts_is_stopped_only_after_a_clear_no(
    database_url: str, posted: Refused | Unknown, stopped: bool
) -> None:
    async with a_storage(database_url) as storage:
        job = await storage.hold("un")
        await storage.transitions.settle(await storage.send(), posted)

        try:
            answer = await storage.transitions.cancel(storage.org, job, "zoe")
        except TooLate:
            answer = {}

        assert answer == ({1: CandidateState.RECALLED} if stopped else {})


async def test_a_cancel_covers_the_message_the_run_has_not_seen(database_url: str) -> None:
    async with a_storage(database_url) as storage:
        await storage.say()
        claim = await storage.claim()
        await storage.say("m-2")

        await storage.transitions.cancel(storage.org, claim.job, "zoe")

        assert await jobs(storage) == [("cancelled", 2)]


async def test_cancelling_a_pinned_reply_leaves_a_job_for_what_came_after(database_url: str) -> None:
    async with a_storage(database_url) as storage:
        job = await storage.hold("un")
        await storage.rows("UPDATE jobs SET pinned = true")
        await storage.say("m-2")

        await storage.transitions.cancel(storage.org, job, "zoe")

        assert await jobs(storage) == [("cancelled", 1), ("queued", 2)]


async def test_taking_over_cancels_and_the_second_person_is_told_who(database_url: str) -> None:
    async with a_storage(database_url) as storage:
        await storage.hold("un", "deux")
        posting = await storage.send()

        await storage.transitions.takeover(storage.org, "c-1", "zoe")
        with pytest.raises(TooLate) as late:
            await storage.transitions.takeover(storage.org, "c-1", "ana")
        await storage.transitions.settle(posting, Accepted())

        states = [bubble[2] for bubble in await storage.candidates()]
        assert (late.value.state, late.value.by, await jobs(storage), states) == (
            "human",
            "zoe",
            [("cancelled", 1)],
            ["sent", "recalled"],
        )


async def test_taking_over_stops_a_run_which_keeps_nothing(database_url: str) -> None:
    async with a_storage(database_url) as storage:
        await storage.say()
        claim = await storage.claim()
        await storage.transitions.takeover(storage.org, "c-1", "zoe")

        await storage.transitions.record(claim, a_reply("trop tard"))

        assert (await jobs(storage), await storage.candidates()) == ([("cancelled", 1)], [])


async def test_resuming_answers_at_once_what_came_meanwhile(database_url: str) -> None:
    async with a_storage(database_url, {"debounce": {"quiet_seconds": 8, "max_wait_seconds": 45}}) as storage:
        await storage.say()
        await storage.transitions.takeover(storage.org, "c-1", "zoe")
        await storage.say("m-2")

        made = await storage.transitions.resume(storage.org, "c-1", "zoe")

        job = await storage.job()
        assert (made, job["trigger"], job["inbound_seq"], storage.courier.heard) == (
            2,
            "resume",
            2,
            [AutoReply(conversation=1, job=2)],
        )


async def test_resuming_when_the_operator_had_the_last_word_makes_no_job(database_url: str) -> None:
    async with a_storage(database_url) as storage:
        await storage.say()
        await storage.say("m-2", author="operator")

        made = await storage.transitions.resume(storage.org, "c-1", "zoe")

        conversation = await storage.conversation()
        assert (made, conversation["handled_by"], await jobs(storage)) == (None, "ai", [("cancelled", 1)])


async def test_resuming_what_the_ai_handles_is_too_late(database_url: str) -> None:
    async with a_storage(database_url) as storage:
        await storage.say()

        with pytest.raises(TooLate) as late:
            await storage.transitions.resume(storage.org, "c-1", "zoe")

        assert late.value.state == "ai"
