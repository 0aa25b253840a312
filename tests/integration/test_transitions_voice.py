"""A voice bubble's life: taken, spoken outside of any transaction, asked again, and out; or held for a person."""

import json
from dataclasses import replace
from typing import Any

import pytest

from schemas.claims import Accepted, Posting, Preparing
from schemas.conversation import BubbleKind
from schemas.decisions import Bubble, Reply
from schemas.http import CandidatePatch
from schemas.ids import CandidateId
from schemas.jobs import DelayedSend
from schemas.speech import Recording, SpeechFailed
from tests.builders_storage import Storage, a_reply, a_storage

AWAY = SpeechFailed("openai answered 503", retryable=True)
LATER = SpeechFailed("openai answered 429", retryable=True, retry_after=40)
NEVER = SpeechFailed("there is nothing to say in this text", retryable=False)
VOICED = {"language": "fr", "voice": "fr+f3"}


def recorded(text: str = "un") -> Recording:
    return Recording("org_1/speech/a.ogg", "http://it/v1/files/a", "audio/ogg; codecs=opus", 950, text)


async def hold(storage: Storage, *bubbles: tuple[BubbleKind, str]) -> None:
    await storage.say()
    reply = Reply(tuple(Bubble(kind, text) for kind, text in bubbles))
    await storage.transitions.record(await storage.claim(), reply)


async def preparing(storage: Storage, *texts: str) -> Preparing:
    """The first of these voice bubbles, taken to be spoken."""
    await hold(storage, *((BubbleKind.VOICE, text) for text in texts or ("un",)))
    return await take(storage)


async def take(storage: Storage) -> Preparing:
    taken = await storage.try_send()
    assert isinstance(taken, Preparing)
    return taken


async def leave(storage: Storage, bubble: Preparing) -> Posting | None:
    return await storage.transitions.leave(bubble, recorded(bubble.text))


async def state(storage: Storage) -> dict[str, Any]:
    job = await storage.job()
    return {
        "job": job["state"],
        "due": job["due_at"] is not None,
        "leased": job["lease_until"] is not None,
        "bubbles": [bubble[2] for bubble in await storage.candidates()],
    }


async def test_a_voice_bubble_is_leased_to_be_spoken_and_has_not_left(database_url: str) -> None:
    async with a_storage(database_url, VOICED) as storage:
        await hold(storage, (BubbleKind.VOICE, "un"), (BubbleKind.VOICE, "deux"))
        due = (await storage.job())["due_at"]
        bubble = await take(storage)

        assert bubble == Preparing(
            job=bubble.job,
            conversation=bubble.conversation,
            org=storage.org,
            fence=3,
            candidate=bubble.candidate,
            version=0,
            text="un",
            voice="fr+f3",
            language="fr",
            consented=False,
            due_at=due,
        )
        assert await state(storage) == {
            "job": "sending",
            "due": False,
            "leased": True,
            "bubbles": ["preparing", "held"],
        }
        assert await storage.rows("SELECT 1 FROM deliveries") == []
        assert await storage.try_send() is None


@pytest.mark.parametrize(
    ("persona", "contact", "language"),
    [({"language": "de"}, "es", "de"), ({}, "es", "es"), ({}, None, "en")],
)
async def test_the_language_is_the_personas_the_contacts_or_the_organisations(
    database_url: str, persona: dict[str, str], contact: str | None, language: str
) -> None:
    async with a_storage(database_url, persona) as storage:
        await storage.say(contact={"id": "fan-7", "locale": contact})
        reply = Reply((Bubble(BubbleKind.VOICE, "un"),))
        await storage.transitions.record(await storage.claim(), reply)

        assert (await take(storage)).language == language


async def test_the_audio_leaves_frozen_in_the_body_with_its_line(database_url: str) -> None:
    async with a_storage(database_url) as storage:
        posting = await leave(storage, await preparing(storage))

        assert posting is not None
        sent = json.loads(posting.body)["data"]
        assert (sent["kind"], sent["text"], sent["audio"]) == (
            "voice",
            "un",
            {
                "url": "http://it/v1/files/a",
                "mime": "audio/ogg; codecs=opus",
                "duration_ms": 950,
                "transcript": "un",
            },
        )
        row = await storage.row(
            "SELECT k.audio ->> 'key' AS key, m.kind, m.text FROM candidates k JOIN messages m ON m.candidate_id = k.id"
        )
        assert row == {"key": "org_1/speech/a.ogg", "kind": "voice", "text": "un"}
        assert await state(storage) == {"job": "sending", "due": False, "leased": False, "bubbles": ["leaving"]}

        await storage.transitions.settle(posting, Accepted())
        assert (await state(storage))["job"] == "sent"


async def test_a_voice_bubble_waits_for_the_text_before_it(database_url: str) -> None:
    async with a_storage(database_url) as storage:
        await hold(storage, (BubbleKind.TEXT, "un"), (BubbleKind.VOICE, "deux"), (BubbleKind.TEXT, "trois"))
        first = await storage.send()
        early = await storage.try_send()
        await storage.transitions.settle(first, Accepted())
        second = await leave(storage, await take(storage))
        assert second is not None
        between = await storage.try_send()
        await storage.transitions.settle(second, Accepted())
        await storage.transitions.settle(await storage.send(), Accepted())

        rows = await storage.rows("SELECT text FROM messages WHERE author = 'ai' ORDER BY position")
        assert (early, between, [row["text"] for row in rows]) == (None, None, ["un", "deux", "trois"])
        assert (await state(storage))["bubbles"] == ["sent", "sent", "sent"]


MEANWHILE = {
    "the contact wrote": ("superseded", "recalled"),
    "an operator cancelled": ("cancelled", "recalled"),
    "a person took over": ("cancelled", "recalled"),
    "the contact opted out": ("cancelled", "recalled"),
    "the receiver disabled its webhook": ("failed", "held"),
}


async def happens(storage: Storage, what: str) -> None:
    job = await storage.job()
    match what:
        case "the contact wrote":
            await storage.say("m-2")
        case "an operator cancelled":
            await storage.transitions.cancel(storage.org, job["id"], "zoe")
        case "a person took over":
            await storage.transitions.takeover(storage.org, "c-1", "zoe")
        case "the contact opted out":
            await storage.rows("UPDATE contacts SET opted_out_at = clock_timestamp()")
        case _:
            await storage.rows("UPDATE organizations SET webhook_disabled_at = clock_timestamp()")


@pytest.mark.parametrize("what", MEANWHILE)
@pytest.mark.parametrize("ended", ["spoken", "failed"])
async def test_nothing_leaves_when_meanwhile(database_url: str, what: str, ended: str) -> None:
    async with a_storage(database_url) as storage:
        bubble = await preparing(storage)
        await happens(storage, what)

        if ended == "spoken":
            assert await leave(storage, bubble) is None
        else:
            await storage.transitions.speech_failed(bubble, NEVER)

        job = await storage.job(bubble.job)
        assert (job["state"], (await storage.candidates())[0][2]) == MEANWHILE[what]
        assert await storage.rows("SELECT 1 FROM deliveries WHERE candidate_id IS NOT NULL") == []


async def edit(storage: Storage, bubble: Preparing, text: str = "autrement") -> None:
    await storage.transitions.edit_candidate(storage.org, bubble.candidate, CandidatePatch(text=text), "zoe")


async def test_what_was_edited_while_it_was_spoken_is_spoken_as_edited(database_url: str) -> None:
    async with a_storage(database_url) as storage:
        bubble = await preparing(storage)
        await edit(storage, bubble)

        assert await leave(storage, bubble) is None
        assert await state(storage) == {"job": "sending", "due": True, "leased": False, "bubbles": ["held"]}
        again = await take(storage)
        posting = await leave(storage, again)

        assert posting is not None
        assert (again.text, again.version, json.loads(posting.body)["data"]["audio"]["transcript"]) == (
            "autrement",
            1,
            "autrement",
        )


async def test_an_edited_text_is_not_blamed_for_the_failure_of_the_one_before(database_url: str) -> None:
    async with a_storage(database_url) as storage:
        bubble = await preparing(storage)
        await edit(storage, bubble)

        await storage.transitions.speech_failed(bubble, NEVER)

        assert await state(storage) == {"job": "sending", "due": True, "leased": False, "bubbles": ["held"]}


async def test_what_is_put_on_hold_while_it_is_spoken_waits(database_url: str) -> None:
    async with a_storage(database_url) as storage:
        bubble = await preparing(storage)
        await storage.transitions.hold(storage.org, bubble.job, "zoe")

        assert await leave(storage, bubble) is None
        assert await state(storage) == {"job": "sending", "due": False, "leased": False, "bubbles": ["held"]}


async def test_a_job_on_hold_whose_worker_died_is_not_offered_for_ever(database_url: str) -> None:
    async with a_storage(database_url) as storage:
        bubble = await preparing(storage)
        await storage.transitions.hold(storage.org, bubble.job, "zoe")
        await storage.expire_leases()

        assert await storage.try_send() is None
        assert (await state(storage))["due"] is False


INTERRUPTIONS = ["edits", "holds", "reorders", "drops"]


async def interrupt(storage: Storage, bubble: Preparing, how: str, number: int) -> None:
    """An operator does something that calls the speaking worker off."""
    match how:
        case "edits":
            await edit(storage, bubble, f"autrement {number}")
        case "holds":
            await storage.transitions.hold(storage.org, bubble.job, "zoe")
            await storage.transitions.release_hold(storage.org, bubble.job, "zoe")
        case "reorders":
            patch = CandidatePatch(ordinal=1)
            await storage.transitions.edit_candidate(storage.org, bubble.candidate, patch, "zoe")
        case _:
            await storage.transitions.drop_candidate(storage.org, bubble.candidate, "zoe")


@pytest.mark.parametrize("how", INTERRUPTIONS)
async def test_a_worker_that_an_operator_called_off_has_not_died(database_url: str, how: str) -> None:
    async with a_storage(database_url) as storage:
        bubble = await preparing(storage, "un", "deux", "trois", "quatre", "cinq")
        for number in range(4):
            await interrupt(storage, bubble, how, number)
            bubble = await take(storage)

        job = await storage.job()
        assert (job["state"], job["code"], job["crashes"]) == ("sending", None, 1)


@pytest.mark.parametrize("how", ["edits", "reorders", "drops"])
async def test_what_is_spoken_instead_has_all_its_attempts(database_url: str, how: str) -> None:
    async with a_storage(database_url) as storage:
        bubble = await preparing(storage, "un", "deux")
        await failing(storage, bubble, AWAY, AWAY)
        await interrupt(storage, bubble, how, 1)
        await storage.make_due()

        job = await failing(storage, await take(storage), AWAY, AWAY)

        assert (job["state"], job["code"], job["tries"]) == ("sending", None, 2)


async def test_another_bubbles_words_do_not_give_the_next_one_more_attempts(database_url: str) -> None:
    async with a_storage(database_url) as storage:
        bubble = await preparing(storage, "un", "deux")
        await failing(storage, bubble, AWAY, AWAY)
        second = replace(bubble, candidate=CandidateId(bubble.candidate + 1))
        await edit(storage, second)
        await storage.make_due()

        assert (await failing(storage, await take(storage), AWAY))["code"] == "AR-561"


async def test_a_stopping_worker_gives_its_bubble_back_uncounted(database_url: str) -> None:
    async with a_storage(database_url) as storage:
        bubble = await preparing(storage)

        await storage.transitions.put_back(bubble)

        job = await storage.job()
        assert (job["tries"], job["crashes"]) == (0, 0)
        assert await state(storage) == {"job": "sending", "due": True, "leased": False, "bubbles": ["held"]}
        assert await leave(storage, bubble) is None
        assert (await take(storage)).text == "un"


async def test_the_lease_of_a_speaking_worker_is_renewed_until_it_is_not_its_own(database_url: str) -> None:
    async with a_storage(database_url) as storage:
        bubble = await preparing(storage)
        held = [(bubble.job, bubble.fence)]
        before = (await storage.job())["lease_until"]

        ours = await storage.transitions.renew(held, [])
        longer = (await storage.job())["lease_until"]
        await storage.say("m-2")

        assert (ours, longer > before) == (({bubble.job}, set()), True)
        assert await storage.transitions.renew(held, []) == (set(), set())


async def failing(storage: Storage, bubble: Preparing, *failures: SpeechFailed) -> dict[str, Any]:
    """The job after these failures, each of the bubble taken anew."""
    for number, failure in enumerate(failures):
        if number:
            await storage.make_due()
            bubble = await take(storage)
        await storage.transitions.speech_failed(bubble, failure)
    return await storage.row(
        "SELECT state, on_hold, code, reason, attention, tries, due_at,"
        " round(EXTRACT(EPOCH FROM due_at - clock_timestamp())) AS wait FROM jobs"
    )


async def test_a_failure_is_tried_again_after_a_pause(database_url: str) -> None:
    async with a_storage(database_url) as storage:
        first = await failing(storage, await preparing(storage), AWAY)
        await storage.make_due()
        second = await failing(storage, await take(storage), LATER)

        assert [(job["state"], job["tries"], job["code"]) for job in (first, second)] == [
            ("sending", 1, None),
            ("sending", 2, None),
        ]
        assert (first["wait"] <= 2, 38 <= second["wait"] <= 41) == (True, True)


@pytest.mark.parametrize("failures", [(AWAY, LATER, AWAY), (NEVER,)])
async def test_the_third_failure_or_a_hopeless_one_waits_for_a_person(
    database_url: str, failures: tuple[SpeechFailed, ...]
) -> None:
    async with a_storage(database_url) as storage:
        job = await failing(storage, await preparing(storage, "un", "deux"), *failures)

        assert job == {
            "state": "held",
            "on_hold": True,
            "code": "AR-561",
            "reason": "speech_failed",
            "attention": "open",
            "tries": 0,
            "due_at": None,
            "wait": None,
        }
        assert (await state(storage))["bubbles"] == ["held", "held"]
        row = await storage.row("SELECT type, body FROM deliveries")
        told = json.loads(row["body"])["data"]
        assert (row["type"], told["code"], told["reason"]) == ("attention.raised", "AR-561", "speech_failed")
        event = await storage.row("SELECT facts FROM job_events ORDER BY id DESC LIMIT 1")
        assert event["facts"]["detail"] == failures[-1].sentence
        assert await storage.rows("SELECT 1 FROM dead_letters") == []


async def test_approving_it_tries_again_and_closes_the_matter(database_url: str) -> None:
    async with a_storage(database_url) as storage:
        await failing(storage, await preparing(storage), NEVER)
        await storage.transitions.approve(storage.org, (await storage.job())["id"], "zoe")

        bubble = await take(storage)
        posting = await leave(storage, bubble)

        assert posting is not None
        job = await storage.job()
        assert (job["state"], job["code"], job["reason"], job["attention"], job["on_hold"]) == (
            "sending",
            None,
            None,
            None,
            False,
        )


async def test_a_contact_who_writes_ends_the_matter_too(database_url: str) -> None:
    async with a_storage(database_url) as storage:
        bubble = await preparing(storage)
        await failing(storage, bubble, NEVER)
        await storage.say("m-2")

        job = await storage.job(bubble.job)
        assert (job["state"], job["code"], job["attention"]) == ("superseded", None, None)


async def test_a_text_whose_worker_dies_three_times_waits_for_a_person(database_url: str) -> None:
    async with a_storage(database_url) as storage:
        first = await preparing(storage)
        for _ in range(2):
            await storage.expire_leases()
            last = await take(storage)
        await storage.expire_leases()

        assert (await storage.try_send(), first.candidate) == (None, last.candidate)
        job = await storage.job()
        assert (job["state"], job["code"], job["reason"]) == ("held", "AR-561", "worker_died")
        event = await storage.row("SELECT facts FROM job_events ORDER BY id DESC LIMIT 1")
        assert event["facts"]["detail"] == "its worker died 3 times while it was spoken"


async def test_who_lost_the_lease_changes_nothing(database_url: str) -> None:
    async with a_storage(database_url) as storage:
        late = await preparing(storage)
        await storage.expire_leases()
        await take(storage)

        await storage.transitions.put_back(late)
        await storage.transitions.speech_failed(late, NEVER)

        assert await leave(storage, late) is None
        assert await state(storage) == {"job": "sending", "due": False, "leased": True, "bubbles": ["preparing"]}


async def test_a_pinned_reply_is_spoken_whatever_comes_in(database_url: str) -> None:
    async with a_storage(database_url) as storage:
        bubble = await preparing(storage)
        await storage.rows("UPDATE jobs SET pinned = true")
        await storage.say("m-2")

        posting = await leave(storage, bubble)
        assert posting is not None
        await storage.transitions.settle(posting, Accepted())

        rows = await storage.rows("SELECT state FROM jobs ORDER BY id")
        assert [row["state"] for row in rows] == ["sent", "queued"]


async def test_a_bubble_of_another_reply_that_is_out_is_waited_for(database_url: str) -> None:
    async with a_storage(database_url) as storage:
        await storage.hold("avant")
        await storage.send()
        await storage.rows("UPDATE deliveries SET ambiguous = true, state = 'accepted'")
        await storage.say("m-2")
        await storage.transitions.record(await storage.claim(), Reply((Bubble(BubbleKind.VOICE, "un"),)))
        bubble = await take(storage)
        await storage.rows("UPDATE deliveries SET state = 'waiting', due_at = clock_timestamp() + interval '1 h'")

        left = await leave(storage, bubble)

        assert (left, (await storage.candidates())[-1][2]) == (None, "held")


async def test_texts_are_sent_as_before(database_url: str) -> None:
    async with a_storage(database_url) as storage:
        await storage.say()
        await storage.transitions.record(await storage.claim(), a_reply("un"))

        posting = await storage.transitions.claim_send(DelayedSend(conversation=1, job=1))

        assert isinstance(posting, Posting)
        assert json.loads(posting.body)["data"]["audio"] is None


async def test_night_that_falls_while_it_is_spoken_keeps_the_bubble_for_the_morning(database_url: str) -> None:
    async with a_storage(database_url, VOICED) as storage:
        bubble = await preparing(storage, "un")
        await storage.rows(
            "UPDATE personas SET version = version + 1, spec = jsonb_set(spec, '{quiet_hours}',"
            " to_jsonb(to_char(now() AT TIME ZONE 'UTC' - interval '1 hour', 'HH24:MI') || '-'"
            " || to_char(now() AT TIME ZONE 'UTC' + interval '1 hour', 'HH24:MI'))) RETURNING id"
        )

        gone = await leave(storage, bubble)
        again = await storage.try_send()
        held = await state(storage)

    assert (gone, again) == (None, None)
    assert (held["due"], held["bubbles"]) == (True, ["held"])
