"""A send worker's life: claim, leave, settle; refused, unknown, gone, given up; recalled or not any more."""

import json
from datetime import timedelta
from typing import Any

import pytest

from schemas.claims import Accepted, Endpoint, Posted, Posting, Refused, Unknown
from schemas.conversation import Author
from schemas.jobs import DelayedSend, Deliver
from schemas.settings import Settings
from tests.builders_storage import WEBHOOK, Storage, a_reply, a_storage

AGAIN = Refused("503", final=False)
NEVER = Refused("400 bad", final=True)
GONE = Refused("410", final=True, gone=True)


async def state(storage: Storage) -> dict[str, Any]:
    """The newest job, its bubbles and their deliveries, in short."""
    job = await storage.job()
    deliveries = await storage.rows(
        "SELECT state, attempts, ambiguous FROM deliveries WHERE candidate_id IS NOT NULL ORDER BY id"
    )
    return {
        "job": job["state"],
        "bubbles": [bubble[2] for bubble in await storage.candidates()],
        "deliveries": [tuple(row.values()) for row in deliveries],
        "lines": [row["text"] for row in await storage.rows("SELECT text FROM messages WHERE author = 'ai'")],
    }


async def leaving(storage: Storage, *texts: str) -> Posting:
    await storage.hold(*texts)
    return await storage.send()


async def retry(storage: Storage) -> Posting:
    """The waiting delivery, due by now, claimed again."""
    await storage.make_due()
    posting = await storage.transitions.claim_delivery(await deliver(storage))
    assert posting is not None
    return posting


async def deliver(storage: Storage) -> Deliver:
    row = await storage.row("SELECT id, conversation_id FROM deliveries ORDER BY id DESC LIMIT 1")
    return Deliver(conversation=row["conversation_id"], delivery=row["id"])


async def test_a_bubble_leaves_with_its_frozen_body_its_lease_and_its_line(database_url: str) -> None:
    async with a_storage(database_url) as storage:
        posting = await leaving(storage, "un", "deux")

        tag = (await storage.row("SELECT tag FROM installation"))["tag"]
        body = json.loads(posting.body)
        assert body["data"] == {
            "id": "bub_1",
            "job": "job_1",
            "conversation": "c-1",
            "contact": "fan-7",
            "persona": "maya",
            "ordinal": 0,
            "kind": "text",
            "text": "un",
            "media": [],
            "audio": None,
            "payment": None,
            "ai_generated": True,
        }
        assert (body["type"], posting.webhook_id, posting.fence, posting.attempt) == (
            "message.send",
            f"wh_{tag}_b1",
            1,
            1,
        )
        assert posting.endpoint == Endpoint(WEBHOOK["url"], WEBHOOK["secret"])
        row = await storage.row(
            "SELECT d.body, d.queue, d.leased_by, d.lease_until > clock_timestamp() AS leased, k.left_seq,"
            " k.left_at IS NOT NULL AS left, j.due_at, j.lease_until, j.dispatched_at"
            " FROM deliveries d JOIN candidates k ON k.id = d.candidate_id JOIN jobs j ON j.id = d.job_id"
        )
        assert row == {
            "body": posting.body,
            "queue": "send",
            "leased_by": "tests",
            "leased": True,
            "left_seq": 1,
            "left": True,
            "due_at": None,
            "lease_until": None,
            "dispatched_at": None,
        }
        assert await state(storage) == {
            "job": "sending",
            "bubbles": ["leaving", "held"],
            "deliveries": [("posting", 1, False)],
            "lines": ["un"],
        }


async def test_the_next_bubble_is_due_after_the_pace_of_its_length(database_url: str) -> None:
    pacing = {"pacing": {"base_ms": 1000, "per_char_ms": 100, "jitter": 0}}
    async with a_storage(database_url, pacing) as storage:
        posting = await leaving(storage, "un", "x" * 40)

        await storage.transitions.settle(posting, Accepted("p-1"))

        row = await storage.row(
            "SELECT round(EXTRACT(EPOCH FROM due_at - clock_timestamp())) AS wait, dispatched_at,"
            " (SELECT platform_id FROM candidates WHERE state = 'sent') AS platform FROM jobs"
        )
        assert row == {"wait": 5, "dispatched_at": None, "platform": "p-1"}


async def test_the_last_bubble_accepted_ends_the_job(database_url: str) -> None:
    async with a_storage(database_url) as storage:
        await storage.transitions.settle(await leaving(storage, "un", "deux"), Accepted())
        pushed = storage.courier.heard[-1]

        await storage.transitions.settle(await storage.send(), Accepted())

        assert (pushed, await state(storage)) == (
            DelayedSend(conversation=1, job=1),
            {
                "job": "sent",
                "bubbles": ["sent", "sent"],
                "deliveries": [("accepted", 1, False), ("accepted", 1, False)],
                "lines": ["un", "deux"],
            },
        )


async def test_one_window_one_bubble_whoever_claims(database_url: str) -> None:
    async with a_storage(database_url) as storage:
        await leaving(storage, "un", "deux")

        assert await storage.try_send() is None
        assert (await state(storage))["deliveries"] == [("posting", 1, False)]


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE jobs SET due_at = clock_timestamp() + interval '5 s'",
        "UPDATE jobs SET on_hold = true, due_at = NULL",
        "UPDATE jobs SET lease_until = clock_timestamp() + interval '5 s'",
    ],
)
async def test_nothing_leaves_before_its_time(database_url: str, change: str) -> None:
    async with a_storage(database_url) as storage:
        await storage.hold("un")
        await storage.rows(change)

        assert await storage.try_send() is None
        assert await state(storage) == {"job": "held", "bubbles": ["held"], "deliveries": [], "lines": []}


@pytest.mark.parametrize(
    ("change", "ends", "reason"),
    [
        ("UPDATE conversations SET inbound_seq = 2", "superseded", "newer_message"),
        ("UPDATE conversations SET handled_by = 'human'", "cancelled", "human_handles"),
        (
            "UPDATE conversations SET paused_until = clock_timestamp() + interval '1 h'",
            "cancelled",
            "paused",
        ),
        ("UPDATE contacts SET opted_out_at = clock_timestamp()", "cancelled", "opted_out"),
        ("UPDATE contacts SET locked_at = clock_timestamp()", "cancelled", "safety_lock"),
        ("UPDATE contacts SET erased_at = clock_timestamp()", "cancelled", "erased"),
    ],
)
async def test_the_gate_is_asked_again_when_the_window_closes(
    database_url: str, change: str, ends: str, reason: str
) -> None:
    async with a_storage(database_url) as storage:
        await storage.hold("un")
        await storage.rows(change)

        assert await storage.try_send() is None

        job = await storage.row("SELECT state, reason FROM jobs WHERE id = 1")
        live = await storage.rows("SELECT inbound_seq FROM jobs WHERE state = 'queued'")
        assert (job, (await storage.candidates())[0][2], live) == (
            {"state": ends, "reason": reason},
            "recalled",
            [{"inbound_seq": 2}] if ends == "superseded" else [],
        )


async def test_a_clear_no_is_tried_again_under_the_same_id_and_body(database_url: str) -> None:
    async with a_storage(database_url) as storage:
        first = await leaving(storage, "un")
        await storage.transitions.settle(first, AGAIN)
        row = await storage.row("SELECT due_at - clock_timestamp() AS wait, error FROM deliveries")
        assert timedelta(seconds=0.6) < row["wait"] <= timedelta(seconds=1.25)

        second = await retry(storage)

        assert (second.webhook_id, second.body, second.attempt, row["error"]) == (
            first.webhook_id,
            first.body,
            2,
            "503",
        )
        assert (await state(storage))["deliveries"] == [("posting", 2, False)]


@pytest.mark.parametrize(("asked", "at_least", "at_most"), [(40, 39.5, 40), (4000, 599, 600)])
async def test_retry_after_is_honoured_up_to_ten_minutes(
    database_url: str, asked: float, at_least: float, at_most: float
) -> None:
    async with a_storage(database_url) as storage:
        await storage.transitions.settle(await leaving(storage, "un"), Refused("429", final=False, retry_after=asked))

        row = await storage.row("SELECT EXTRACT(EPOCH FROM due_at - clock_timestamp()) AS wait FROM deliveries")
        assert at_least < row["wait"] <= at_most


async def test_a_delivery_claimed_early_waits_for_the_clock(database_url: str) -> None:
    async with a_storage(database_url) as storage:
        await storage.transitions.settle(await leaving(storage, "un"), AGAIN)
        await storage.rows("UPDATE deliveries SET dispatched_at = clock_timestamp()")

        assert await storage.transitions.claim_delivery(await deliver(storage)) is None
        row = await storage.row("SELECT state, dispatched_at FROM deliveries")
        assert row == {"state": "waiting", "dispatched_at": None}


async def test_a_worker_that_dies_in_the_post_leaves_it_ambiguous(database_url: str) -> None:
    async with a_storage(database_url) as storage:
        first = await leaving(storage, "un")
        await storage.expire_leases()

        second = await retry(storage)
        await storage.transitions.settle(first, NEVER)

        assert (second.fence, await state(storage)) == (
            2,
            {"job": "sending", "bubbles": ["leaving"], "deliveries": [("posting", 2, True)], "lines": ["un"]},
        )


async def test_a_final_no_fails_the_job_keeps_the_rest_and_tells(database_url: str) -> None:
    async with a_storage(database_url) as storage:
        await storage.transitions.settle(await leaving(storage, "un", "deux"), NEVER)

        job = await storage.job()
        letter = await storage.row("SELECT source, job_id, delivery_id, code, error, attempts FROM dead_letters")
        told = await storage.row("SELECT type, state FROM deliveries WHERE candidate_id IS NULL")
        assert (await state(storage), job["code"], job["attention"]) == (
            {"job": "failed", "bubbles": ["failed", "held"], "deliveries": [("failed", 1, False)], "lines": []},
            "AR-560",
            "open",
        )
        assert (letter, told) == (
            {"source": "delivery", "job_id": 1, "delivery_id": 1, "code": "AR-560", "error": "400 bad", "attempts": 1},
            {"type": "attention.raised", "state": "waiting"},
        )


async def test_a_410_disables_the_webhook_and_nothing_is_posted_there_again(database_url: str) -> None:
    async with a_storage(database_url) as storage:
        await storage.transitions.settle(await leaving(storage, "un"), GONE)
        await storage.say("m-2")
        await storage.transitions.record(await storage.claim(), a_reply("deux"))

        assert await storage.try_send() is None
        attention = await storage.transitions.claim_delivery(await deliver(storage))

        assert (attention, await state(storage)) == (
            None,
            {"job": "failed", "bubbles": ["failed", "held"], "deliveries": [("failed", 1, False)], "lines": []},
        )


@pytest.mark.parametrize("posted", [AGAIN, Unknown("timed out")])
async def test_a_delivery_older_than_a_day_is_given_up(database_url: str, posted: Posted) -> None:
    async with a_storage(database_url) as storage:
        posting = await leaving(storage, "un")
        await storage.rows("UPDATE deliveries SET first_attempt_at = clock_timestamp() - interval '24 h'")

        await storage.transitions.settle(posting, posted)

        after = await state(storage)
        assert (after["job"], after["bubbles"], after["deliveries"][0][0]) == ("failed", ["failed"], "failed")


async def test_a_recall_while_the_post_is_out_waits_for_its_answer(database_url: str) -> None:
    async with a_storage(database_url) as storage:
        posting = await leaving(storage, "un", "deux")
        await storage.say("m-2")
        assert [bubble[2] for bubble in await storage.candidates()] == ["leaving", "recalled"]

        await storage.transitions.settle(posting, AGAIN)

        assert await state(storage) == {
            "job": "queued",
            "bubbles": ["recalled", "recalled"],
            "deliveries": [("recalled", 1, False)],
            "lines": [],
        }


async def test_a_refused_bubble_that_waits_is_recalled_with_the_job(database_url: str) -> None:
    async with a_storage(database_url) as storage:
        await storage.transitions.settle(await leaving(storage, "un", "deux"), AGAIN)

        await storage.say("m-2")

        assert await state(storage) == {
            "job": "queued",
            "bubbles": ["recalled", "recalled"],
            "deliveries": [("recalled", 1, False)],
            "lines": [],
        }


async def test_an_ambiguous_bubble_is_never_recalled_and_goes_ten_minutes_without_its_job(database_url: str) -> None:
    settings = Settings()
    async with a_storage(database_url, settings=settings) as storage:
        await storage.transitions.settle(await leaving(storage, "un", "deux"), Unknown("timed out"))
        await storage.say("m-2")
        before = await state(storage)
        second = await retry(storage)
        await storage.transitions.settle(second, AGAIN)
        third = await retry(storage)
        await storage.rows("UPDATE deliveries SET first_attempt_at = clock_timestamp() - interval '10 min'")

        await storage.transitions.settle(third, AGAIN)

        letters = await storage.rows("SELECT id FROM dead_letters")
        assert (before["deliveries"], before["bubbles"]) == ([("waiting", 1, True)], ["leaving", "recalled"])
        assert (await state(storage), letters) == (
            {
                "job": "queued",
                "bubbles": ["failed", "recalled"],
                "deliveries": [("failed", 3, True)],
                "lines": ["un"],
            },
            [],
        )


@pytest.mark.parametrize(
    ("posted", "said"), [(Unknown("timed out"), ["un"]), (NEVER, [])], ids=["ambiguous", "refused"]
)
async def test_the_model_is_shown_what_was_given_up_but_may_have_arrived(
    database_url: str, posted: Posted, said: list[str]
) -> None:
    async with a_storage(database_url) as storage:
        posting = await leaving(storage, "un")
        await storage.rows("UPDATE deliveries SET first_attempt_at = clock_timestamp() - interval '2 days'")
        await storage.transitions.settle(posting, posted)
        given_up = await state(storage)
        await storage.say("m-2")

        case = (await storage.claim()).case

        shown = [turn.text for turn in case.turns if turn.author is Author.AI]
        assert (given_up["bubbles"], shown, list(case.sent_texts), case.replies_last_minute) == (
            ["failed"],
            said,
            said,
            len(said),
        )


async def test_a_job_that_was_offered_too_early_waits_for_the_clock_again(database_url: str) -> None:
    async with a_storage(database_url, {"control_window_seconds": 60}) as storage:
        await storage.hold("un")
        await storage.rows("UPDATE jobs SET dispatched_at = clock_timestamp()")
        before = (await storage.job())["due_at"]

        assert await storage.try_send() is None

        job = await storage.job()
        assert (job["state"], job["dispatched_at"], job["due_at"]) == ("held", None, before)


async def test_a_notice_that_was_accepted_is_remembered_with_the_contact(database_url: str) -> None:
    async with a_storage(database_url, {"disclosure": {"notice": True}}) as storage:
        await storage.hold("un")
        noticed = []
        for _ in range(2):
            await storage.make_due()
            await storage.transitions.settle(await storage.send(), Accepted())
            noticed.append(await storage.row("SELECT noticed_at FROM contacts"))

        sent = await storage.row("SELECT min(sent_at) AS noticed_at FROM candidates")
        assert [abs(then["noticed_at"] - sent["noticed_at"]) < timedelta(seconds=1) for then in noticed] == [True] * 2
        assert noticed[0] == noticed[1]


async def test_the_next_job_waits_for_the_bubble_that_is_still_out(database_url: str) -> None:
    async with a_storage(database_url) as storage:
        await storage.transitions.settle(await leaving(storage, "un"), Unknown("timed out"))
        await storage.say("m-2")
        await storage.transitions.record(await storage.claim(), a_reply("deux"))

        assert await storage.try_send() is None

        waits = await storage.row(
            "SELECT j.due_at - d.due_at AS after_it, j.dispatched_at FROM jobs j, deliveries d WHERE j.state = 'held'"
        )
        assert waits == {"after_it": timedelta(milliseconds=20), "dispatched_at": None}
        await storage.transitions.settle(await retry(storage), Accepted())
        await storage.make_due()
        assert json.loads((await storage.send()).body)["data"]["text"] == "deux"


async def test_a_webhook_that_is_no_bubble_is_retried_and_given_up_in_silence(database_url: str) -> None:
    async with a_storage(database_url) as storage:
        await storage.transitions.settle(await leaving(storage, "un"), NEVER)
        hint = await deliver(storage)
        posting = await storage.transitions.claim_delivery(hint)
        assert posting is not None
        tag = (await storage.row("SELECT tag FROM installation"))["tag"]
        await storage.transitions.settle(posting, AGAIN)
        waiting = (await storage.rows("SELECT state, type FROM deliveries ORDER BY id DESC"))[0]
        again = await retry(storage)

        await storage.transitions.settle(again, NEVER)

        letters = await storage.rows("SELECT delivery_id, error FROM dead_letters ORDER BY id")
        count = await storage.row("SELECT count(*) AS deliveries FROM deliveries")
        assert (posting.webhook_id, waiting) == (
            f"wh_{tag}_e{hint.delivery}",
            {"state": "waiting", "type": "attention.raised"},
        )
        assert (letters[1], count) == ({"delivery_id": hint.delivery, "error": "400 bad"}, {"deliveries": 2})


async def test_an_accepted_event_is_done(database_url: str) -> None:
    async with a_storage(database_url) as storage:
        await storage.transitions.settle(await leaving(storage, "un"), NEVER)
        posting = await storage.transitions.claim_delivery(await deliver(storage))
        assert posting is not None

        await storage.transitions.settle(posting, Accepted())

        row = await storage.row("SELECT state, ambiguous, lease_until FROM deliveries WHERE type = 'attention.raised'")
        assert row == {"state": "accepted", "ambiguous": False, "lease_until": None}


async def test_without_a_webhook_bubbles_go_to_the_built_in_inbox(database_url: str) -> None:
    async with a_storage(database_url, organization={"webhook": None}) as storage:
        posting = await leaving(storage, "un")

        await storage.transitions.settle(posting, Accepted())

        assert (posting.endpoint, (await state(storage))["job"]) == (None, "sent")


async def test_renewing_a_delivery_answers_whether_it_is_ones_own(database_url: str) -> None:
    async with a_storage(database_url) as storage:
        posting = await leaving(storage, "un")
        await storage.expire_leases()
        second = await retry(storage)

        _, old = await storage.transitions.renew([], [(posting.delivery, posting.fence)])
        _, new = await storage.transitions.renew([], [(second.delivery, second.fence)])

        assert (old, new) == (set(), {second.delivery})
