"""A decision is kept: a reply held in its window, a silence with what it decides besides, a failure people hear of."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from schemas.claims import Accepted, Ended, Held, JobState, Requeued
from schemas.conversation import BubbleKind
from schemas.decisions import Bubble, Failure, Reply, Silence, SilenceReason
from schemas.errors import Code
from schemas.jobs import DelayedSend
from tests.builders_storage import Storage, a_reply, a_storage

NOTICE_ON = {"disclosure": {"notice": True}, "display_name": "Maya"}
TOMORROW = datetime(2030, 1, 2, 9, 30, tzinfo=UTC)


async def webhooks(storage: Storage) -> list[tuple[str, str, dict[str, Any]]]:
    """(type, state, data) of what is no bubble."""
    rows = await storage.rows("SELECT type, state, body FROM deliveries WHERE candidate_id IS NULL ORDER BY id")
    return [(row["type"], row["state"], json.loads(row["body"])["data"]) for row in rows]


@pytest.mark.parametrize(
    ("persona", "wait", "on_hold"),
    [
        ({"autonomy": "window", "control_window_seconds": 45}, 45, False),
        ({"autonomy": "auto", "control_window_seconds": 45}, 0, False),
        ({"autonomy": "draft"}, None, True),
    ],
)
async def test_a_reply_is_held_for_its_window(
    database_url: str, persona: dict[str, Any], wait: int | None, on_hold: bool
) -> None:
    async with a_storage(database_url, persona) as storage:
        await storage.say()
        reply = Reply((Bubble(BubbleKind.TEXT, "un\x00"), Bubble(BubbleKind.TEXT, "deux")), plan="séduire", note="best")

        recorded = await storage.transitions.record(await storage.claim(), reply)

        row = await storage.row(
            "SELECT j.state, j.queue, j.on_hold, j.note, j.lease_until, c.plan, r.outcome, j.due_at,"
            " round(EXTRACT(EPOCH FROM j.due_at - clock_timestamp())) AS wait"
            " FROM jobs j JOIN conversations c ON c.id = j.conversation_id JOIN runs r ON r.job_id = j.id"
        )
        assert (recorded, row) == (
            Held(row["due_at"]),
            {
                "state": "held",
                "queue": "send",
                "on_hold": on_hold,
                "note": "best",
                "lease_until": None,
                "plan": "séduire",
                "outcome": "decided",
                "due_at": row["due_at"],
                "wait": wait,
            },
        )
        assert await storage.candidates() == [(0, "text", "held", "un"), (1, "text", "held", "deux")]
        pushed = storage.courier.heard[1:]
        assert pushed == ([DelayedSend(conversation=1, job=1)] if wait == 0 else [])


@pytest.mark.parametrize(
    ("persona", "locale", "words"),
    [
        (NOTICE_ON, "fr-CA", "Les réponses de Maya sont écrites par un assistant IA."),
        (NOTICE_ON, "de", "The replies of Maya are written by an AI assistant."),
        (
            NOTICE_ON | {"disclosure": {"notice": True, "texts": {"de": "{name} ist eine KI."}}},
            "de",
            "Maya ist eine KI.",
        ),
    ],
)
async def test_the_first_reply_to_a_contact_is_preceded_by_the_notice(
    database_url: str, persona: dict[str, Any], locale: str, words: str
) -> None:
    async with a_storage(database_url, persona) as storage:
        await storage.say(contact={"id": "fan-7", "locale": locale})
        await storage.transitions.record(await storage.claim(), a_reply("salut"))
        for _ in range(2):
            await storage.transitions.settle(await storage.send(), Accepted())
        await storage.say("m-2")
        await storage.transitions.record(await storage.claim(), a_reply("encore"))

        assert await storage.candidates() == [
            (0, "notice", "sent", words),
            (1, "text", "sent", "salut"),
            (0, "text", "held", "encore"),
        ]


async def test_the_log_keeps_which_words_a_contact_was_told(database_url: str) -> None:
    async with a_storage(database_url, NOTICE_ON) as storage:
        await storage.hold("salut")

        rows = await storage.rows("SELECT facts FROM job_events WHERE why = 'decided'")

        assert [row["facts"] for row in rows] == [{"notice": "default-1", "language": "en"}]


async def test_a_notice_accepted_elsewhere_meanwhile_is_dropped(database_url: str) -> None:
    async with a_storage(database_url, NOTICE_ON) as storage:
        await storage.hold("salut")
        await storage.rows("UPDATE contacts SET noticed_at = clock_timestamp()")

        posting = await storage.send()

        assert (json.loads(posting.body)["data"]["text"], [state for _, _, state, _ in await storage.candidates()]) == (
            "salut",
            ["dropped", "leaving"],
        )


async def test_a_notice_that_became_due_while_the_reply_waited_leaves_first(database_url: str) -> None:
    """An hour between notices: told before the decision, and long ago when the first bubble leaves."""
    async with a_storage(database_url, {**NOTICE_ON, "disclosure": {"notice": True, "repeat_hours": 1}}) as storage:
        await storage.say()
        await storage.rows("UPDATE contacts SET noticed_at = clock_timestamp()")
        await storage.transitions.record(await storage.claim(), a_reply("salut", "ça va ?"))
        await storage.rows("UPDATE contacts SET noticed_at = clock_timestamp() - interval '2 hours'")
        left = []
        for _ in range(3):
            await storage.make_due()
            left.append(await storage.send())
            await storage.transitions.settle(left[-1], Accepted())

        words = "The replies of Maya are written by an AI assistant."
        told = await storage.rows("SELECT facts FROM job_events WHERE why = 'notice_due'")
        assert [json.loads(posting.body)["data"]["kind"] for posting in left] == ["notice", "text", "text"]
        assert await storage.candidates() == [
            (0, "notice", "sent", words),
            (1, "text", "sent", "salut"),
            (2, "text", "sent", "ça va ?"),
        ]
        assert [row["facts"] for row in told] == [{"notice": "default-1", "language": "en"}]
        assert (await storage.job())["state"] == "sent"


async def test_a_notice_delivered_elsewhere_long_before_its_reply_is_due_again(database_url: str) -> None:
    """Delivered after this reply was decided, but the interval has passed since: it stays."""
    async with a_storage(database_url, {**NOTICE_ON, "disclosure": {"notice": True, "repeat_hours": 1}}) as storage:
        await storage.hold("salut")
        await storage.rows("UPDATE candidates SET created_at = clock_timestamp() - interval '9 hours'")
        await storage.rows("UPDATE contacts SET noticed_at = clock_timestamp() - interval '2 hours'")

        posting = await storage.send()

        assert json.loads(posting.body)["data"]["kind"] == "notice"
        assert [state for _, _, state, _ in await storage.candidates()] == ["leaving", "held"]


async def test_a_reply_to_old_news_is_thrown_away(database_url: str) -> None:
    async with a_storage(database_url) as storage:
        await storage.say()
        claim = await storage.claim()
        await storage.say("m-2")

        recorded = await storage.transitions.record(claim, a_reply("salut"))

        job = await storage.job()
        assert (recorded, job["state"], job["inbound_seq"], job["restarts"], await storage.candidates()) == (
            Requeued(job["due_at"]),
            "queued",
            2,
            1,
            [],
        )


async def test_a_reply_overtaken_a_third_time_stands_and_its_end_makes_the_next_job(database_url: str) -> None:
    async with a_storage(database_url) as storage:
        await storage.say()
        for number in range(3):
            claim = await storage.claim()
            await storage.say(f"m-{number + 2}")
            await storage.transitions.record(claim, a_reply("salut"))
        await storage.say("m-9")

        await storage.transitions.settle(await storage.send(), Accepted())

        rows = await storage.rows("SELECT state, inbound_seq, pinned, supersedes FROM jobs ORDER BY id")
        assert [tuple(row.values()) for row in rows] == [("sent", 3, True, 0), ("queued", 5, False, 0)]


async def test_a_silence_takes_effect_with_the_decision(database_url: str) -> None:
    async with a_storage(database_url) as storage:
        await storage.say()
        silence = Silence(
            SilenceReason.PAUSED,
            detail="elle dort",
            read=True,
            plan="attendre",
            paused_until=TOMORROW,
            follow_up_at=TOMORROW + timedelta(hours=1),
        )

        recorded = await storage.transitions.record(await storage.claim(), silence)

        row = await storage.row(
            "SELECT j.state, j.reason, j.code, j.note, c.plan, c.paused_until, c.follow_up_at, c.last_position,"
            " m.author, m.text, m.position"
            " FROM jobs j JOIN conversations c ON c.id = j.conversation_id JOIN messages m ON m.author = 'system'"
        )
        assert (recorded, row, await webhooks(storage)) == (
            Ended(JobState.SILENT),
            {
                "state": "silent",
                "reason": "paused",
                "code": None,
                "note": "elle dort",
                "plan": "attendre",
                "paused_until": TOMORROW,
                "follow_up_at": TOMORROW + timedelta(hours=1),
                "last_position": 2,
                "author": "system",
                "text": "paused until 2030-01-02T09:30:00+00:00: elle dort",
                "position": 2,
            },
            [("message.read", "waiting", {"conversation": "c-1", "message": "m-1"})],
        )


async def test_nothing_to_answer_is_a_silence_with_a_code(database_url: str) -> None:
    async with a_storage(database_url) as storage:
        await storage.say(text=" ")
        silence = Silence(SilenceReason.NOTHING_TO_ANSWER, Code.NOTHING_TO_ANSWER)

        recorded = await storage.transitions.record(await storage.claim(), silence)

        job = await storage.job()
        assert (recorded, job["state"], job["code"], job["attention"], await webhooks(storage)) == (
            Ended(JobState.SILENT, Code.NOTHING_TO_ANSWER),
            "silent",
            "AR-510",
            None,
            [],
        )


async def test_a_silence_overtaken_by_the_contact_is_not_kept(database_url: str) -> None:
    async with a_storage(database_url) as storage:
        await storage.say()
        claim = await storage.claim()
        await storage.say("m-2")

        await storage.transitions.record(claim, Silence(SilenceReason.LEFT_ON_READ, read=True, plan="x"))

        job, conversation = await storage.job(), await storage.conversation()
        assert (job["state"], conversation["plan"], await webhooks(storage)) == ("queued", None, [])


async def test_a_pinned_silence_is_followed_and_plans_no_follow_up(database_url: str) -> None:
    async with a_storage(database_url) as storage:
        await storage.say()
        claim = await storage.claim()
        await storage.rows("UPDATE jobs SET pinned = true")
        await storage.say("m-2")

        await storage.transitions.record(claim, Silence(SilenceReason.LEFT_ON_READ, follow_up_at=TOMORROW))

        rows = await storage.rows("SELECT state, inbound_seq FROM jobs ORDER BY id")
        assert [tuple(row.values()) for row in rows] == [("silent", 1), ("queued", 2)]
        assert (await storage.conversation())["follow_up_at"] is None


@pytest.mark.parametrize(
    ("code", "letters"), [(Code.NO_CANDIDATE, []), (Code.MODELS_FAILED, [("job", "AR-520", "because")])]
)
async def test_a_failure_raises_attention_and_machines_leave_a_dead_letter(
    database_url: str, code: Code, letters: list[Any]
) -> None:
    async with a_storage(database_url) as storage:
        await storage.say()

        recorded = await storage.transitions.record(await storage.claim(), Failure(code, "because"))

        job = await storage.job()
        kept = await storage.rows("SELECT source, code, error FROM dead_letters")
        told = {"job": "job_1", "conversation": "c-1", "code": code.value, "reason": "because", "severity": "normal"}
        assert (recorded, job["state"], job["code"], job["attention"], job["reason"]) == (
            Ended(JobState.FAILED, code),
            "failed",
            code.value,
            "open",
            "because",
        )
        assert ([tuple(row.values()) for row in kept], await webhooks(storage)) == (
            letters,
            [("attention.raised", "waiting", told)],
        )


async def test_a_critical_failure_ends_the_job_although_the_contact_wrote_and_that_gets_its_own(
    database_url: str,
) -> None:
    async with a_storage(database_url) as storage:
        await storage.say()
        claim = await storage.claim()
        await storage.say("m-2")

        recorded = await storage.transitions.record(claim, Failure(Code.IDENTITY_QUESTION, "identity_question"))

        rows = await storage.rows("SELECT state, inbound_seq FROM jobs ORDER BY id")
        assert (recorded, [tuple(row.values()) for row in rows]) == (
            Ended(JobState.FAILED, Code.IDENTITY_QUESTION),
            [("failed", 1), ("queued", 2)],
        )


async def test_any_other_failure_on_old_news_begins_anew(database_url: str) -> None:
    async with a_storage(database_url) as storage:
        await storage.say()
        claim = await storage.claim()
        await storage.say("m-2")

        recorded = await storage.transitions.record(claim, Failure(Code.NO_CANDIDATE, "because"))

        assert (isinstance(recorded, Requeued), (await storage.job())["state"]) == (True, "queued")
