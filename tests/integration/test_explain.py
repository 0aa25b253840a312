"""Why no answer? Ten causes prepared with the real transitions, read back from the database."""

import json
from datetime import timedelta
from typing import Any

import pytest

from pipelines.ops.explain import explain
from schemas.claims import Accepted, Preparing, Refused
from schemas.conversation import BubbleKind
from schemas.decisions import Bubble, Failure, Parked, Reply, Silence, SilenceReason
from schemas.errors import Code, FailureKind
from schemas.http import CandidatePatch
from schemas.ids import CandidateId
from schemas.ops import Around, Cause, Explanation
from schemas.speech import SpeechFailed
from tests.builders_face import a_gateway
from tests.builders_storage import Storage, a_reply, a_storage, job_of
from workers.adapters.postgres.views.explain import Explain
from workers.adapters.postgres.views.snapshot import Snapshots


async def why(storage: Storage, subject: str = "c-1") -> Explanation:
    facts, organization, conversation = await Explain(Snapshots(storage.database)).facts(storage.org, subject)
    assert (organization, conversation) == ("acme", "c-1")
    return explain(facts, Around())


async def test_a_person_handles_it(database_url: str) -> None:
    async with a_storage(database_url) as storage:
        job = job_of(await storage.say())
        await storage.transitions.takeover(storage.org, "c-1", "zoe")
        at = (await storage.conversation())["handled_at"]
        found = [await why(storage, subject) for subject in ("c-1", "m-1", f"job_{job}")]

    assert [(each.cause, each.who) for each in found] == [
        (Cause.HUMAN_HANDLES, "zoe"),
        (Cause.HUMAN_HANDLES, "zoe"),
        (Cause.CANCELLED, "zoe"),
    ]
    assert found[0].since == at


async def test_the_conversation_is_paused(database_url: str) -> None:
    async with a_storage(database_url) as storage:
        await storage.say()
        await storage.rows("UPDATE conversations SET paused_until = clock_timestamp() + interval '1 h'")
        await storage.say("m-2")
        until = (await storage.conversation())["paused_until"]
        found = await why(storage)

    assert (found.cause, found.until) == (Cause.PAUSED, until)


async def test_the_personas_autonomy_is_off(database_url: str) -> None:
    async with a_storage(database_url, persona={"autonomy": "off"}) as storage:
        await storage.say()
        found = await why(storage, "m-1")

    assert found.cause is Cause.AUTONOMY_OFF


async def test_the_provider_said_429(database_url: str) -> None:
    async with a_storage(database_url) as storage:
        job = job_of(await storage.say())
        parked = Parked(FailureKind.RATE_LIMITED, "429", counts=False, retry_after=60)
        await storage.transitions.record(await storage.claim(), parked)
        found = await why(storage, f"job_{job}")

    assert (found.cause, found.who) == (Cause.RATE_LIMITED, "provider")
    assert found.sentence.endswith("then asked little by little")


async def test_the_contact_may_still_be_writing(database_url: str) -> None:
    async with a_storage(database_url, persona={"debounce": {"quiet_seconds": 60, "max_wait_seconds": 90}}) as storage:
        await storage.say()
        due = (await storage.job())["due_at"]
        found = await why(storage)

    assert (found.cause, found.until) == (Cause.DEBOUNCE, due)


async def test_the_reply_waits_in_its_window_or_for_a_person(database_url: str) -> None:
    async with a_storage(database_url, persona={"control_window_seconds": 60}) as storage:
        await storage.hold("salut")
        in_window = await why(storage)
        await storage.rows("UPDATE jobs SET on_hold = true, due_at = NULL")
        draft = await why(storage)
        await storage.rows(
            "INSERT INTO job_events (org_id, job_id, conversation_id, who, from_state, to_state, why) "
            "SELECT org_id, id, conversation_id, 'zoe', 'held', 'held', 'hold' FROM jobs"
        )
        on_hold = await why(storage)

    found = [in_window, draft, on_hold]
    assert [each.cause for each in found] == [Cause.WINDOW, Cause.AWAITING_APPROVAL, Cause.ON_HOLD]
    assert on_hold.who == "zoe"


DRAFT: dict[str, Any] = {"autonomy": "draft"}
PACED: dict[str, Any] = {"pacing": {"base_ms": 60_000, "per_char_ms": 0, "jitter": 0}}
WAITING: dict[str, tuple[Cause, dict[str, Any]]] = {
    "in its window": (Cause.WINDOW, {"control_window_seconds": 60}),
    "in quiet hours": (Cause.QUIET_HOURS, {}),
    "for approval": (Cause.AWAITING_APPROVAL, DRAFT),
    "on hold": (Cause.ON_HOLD, {}),
    "on hold, speech having failed": (Cause.ON_HOLD, {}),
    "on hold, one accepted since": (Cause.ON_HOLD, PACED),
    "for its pace": (Cause.PACING, PACED),
}


async def until_it_waits(storage: Storage, how: str) -> None:
    transitions, kind = storage.transitions, BubbleKind.VOICE if "speech" in how else BubbleKind.TEXT
    job = job_of(await storage.say())
    await transitions.record(await storage.claim(), Reply(tuple(Bubble(kind, text) for text in "abc")))
    match how:
        case "in quiet hours":
            now = (await storage.row("SELECT clock_timestamp() AT TIME ZONE 'UTC' AS now"))["now"]
            hours = f"{now - timedelta(hours=1):%H:%M}-{now + timedelta(hours=1):%H:%M}"
            await storage.rows(
                "UPDATE personas SET version = version + 1,"
                " spec = jsonb_set(spec, '{quiet_hours}', to_jsonb(CAST(:hours AS text)))",
                hours=hours,
            )
            assert await storage.try_send() is None
        case "on hold":
            await transitions.hold(storage.org, job, "zoe")
        case "on hold, speech having failed":
            bubble = await storage.try_send()
            assert isinstance(bubble, Preparing)
            await transitions.speech_failed(bubble, SpeechFailed("no voice", retryable=False))
        case "on hold, one accepted since":
            posting = await storage.send()
            await transitions.hold(storage.org, job, "zoe")
            await transitions.settle(posting, Accepted())
        case "for its pace":
            await transitions.settle(await storage.send(), Accepted())


@pytest.mark.parametrize("how", WAITING)
async def test_a_bubble_that_is_edited_does_not_change_why_the_reply_waits(database_url: str, how: str) -> None:
    cause, persona = WAITING[how]
    async with a_storage(database_url, persona=persona) as storage:
        await until_it_waits(storage, how)
        before = await why(storage)
        bubble = CandidateId((await storage.row("SELECT max(id) AS id FROM candidates"))["id"])
        await storage.transitions.edit_candidate(storage.org, bubble, CandidatePatch(text="autrement"), "lea")
        edited = await why(storage)
        await storage.transitions.drop_candidate(storage.org, bubble, "lea")
        dropped = await why(storage)

    assert before.cause is cause
    assert [edited, dropped] == [before, before]


async def test_it_failed(database_url: str) -> None:
    async with a_storage(database_url) as storage:
        await storage.say()
        await storage.transitions.record(await storage.claim(), Failure(Code.MAX_ITERATIONS, "max_iterations"))
        found = await why(storage, "m-1")

    assert (found.cause, found.code) == (Cause.FAILED, Code.MAX_ITERATIONS)


async def test_silence_was_right(database_url: str) -> None:
    async with a_storage(database_url) as storage:
        await storage.say()
        silence = Silence(SilenceReason.LEFT_ON_READ, read=True, detail="nothing to add")
        await storage.transitions.record(await storage.claim(), silence)
        found, systems_line = await why(storage), await why(storage, "msg_2")

    assert systems_line.cause is Cause.NOT_FROM_CONTACT
    assert (found.cause, dict(found.facts)) == (Cause.SILENT, {"reason": "left_on_read", "detail": "nothing to add"})


async def test_the_receiver_refuses_then_disables_itself(database_url: str) -> None:
    async with a_storage(database_url) as storage:
        await storage.hold("salut")
        await storage.transitions.settle(await storage.send(), Refused("503 Service Unavailable", final=False))
        refusing = await why(storage)
        next_try = (await storage.row("SELECT due_at FROM deliveries WHERE candidate_id IS NOT NULL"))["due_at"]
        await storage.rows("UPDATE organizations SET webhook_disabled_at = clock_timestamp()")
        disabled = await why(storage)

    assert (refusing.cause, refusing.until) == (Cause.DELIVERY_WAITING, next_try)
    assert refusing.facts == {"attempts": 1, "last_answer": "503 Service Unavailable", "ambiguous": False}
    assert disabled.cause is Cause.WEBHOOK_DISABLED


async def test_clock_or_workers_do_not_run(database_url: str) -> None:
    async with a_storage(database_url) as storage:
        await storage.say()
        await storage.rows("UPDATE jobs SET due_at = clock_timestamp() - interval '1 min', dispatched_at = NULL")
        no_clock = await why(storage)
        await storage.rows("UPDATE jobs SET dispatched_at = clock_timestamp() - interval '30 s'")
        no_worker = await why(storage)

    assert [no_clock.cause, no_worker.cause] == [Cause.CLOCK_STALLED, Cause.WORKERS_STALLED]
    assert no_worker.facts == {"queue": "reply", "working": 0}


async def test_the_contact_is_closed_to_us(database_url: str) -> None:
    causes = []
    async with a_storage(database_url) as storage:
        await storage.say()
        for column in ("opted_out_at", "locked_at", "erased_at"):
            await storage.rows(f"UPDATE contacts SET {column} = clock_timestamp()")
            causes.append((await why(storage)).cause)

    assert causes == [Cause.OPTED_OUT, Cause.SAFETY_LOCK, Cause.ERASED]


async def test_a_message_is_explained_by_the_job_that_covers_it(database_url: str) -> None:
    async with a_storage(database_url) as storage:
        await storage.hold("salut")
        await storage.say("m-2")
        await storage.transitions.record(await storage.claim(), a_reply("re"))
        await storage.transitions.settle(await storage.send(), Refused("no", final=True))
        after_failure = {subject: (await why(storage, subject)).cause for subject in ("m-1", "m-2", "job_1")}
        await storage.say("m-3")  # its job answers all three
        after_next = {subject: (await why(storage, subject)).cause for subject in ("m-1", "m-3")}

    assert after_failure == {"m-1": Cause.FAILED, "m-2": Cause.FAILED, "job_1": Cause.SUPERSEDED}
    assert after_next == {"m-1": Cause.DUE_NOW, "m-3": Cause.DUE_NOW}


async def test_a_message_behind_a_running_reply_waits_for_it(database_url: str) -> None:
    async with a_storage(database_url) as storage:
        first = job_of(await storage.say())
        await storage.claim()
        second = job_of(await storage.say("m-2"))
        running = await why(storage, "m-2")
        await storage.transitions.takeover(storage.org, "c-1", "zoe")
        taken = await why(storage, "m-2")

    assert (first, running.cause, taken.cause, taken.who) == (second, Cause.RUNNING, Cause.HUMAN_HANDLES, "zoe")


async def test_a_message_behind_a_pinned_reply_waits_for_it_and_then_for_its_own(database_url: str) -> None:
    async with a_storage(database_url, persona={"control_window_seconds": 60}) as storage:
        await storage.hold("salut")
        await storage.rows("UPDATE jobs SET pinned = true")
        await storage.say("m-2")
        behind = await why(storage, "m-2")
        await storage.make_due()
        await storage.transitions.settle(await storage.send(), Accepted())
        after = {subject: (await why(storage, subject)).cause for subject in ("m-1", "m-2")}

    assert behind.cause is Cause.WINDOW
    assert after == {"m-1": Cause.ANSWERED, "m-2": Cause.DUE_NOW}


async def test_a_pinned_reply_that_was_sent_answers_nothing_that_came_behind_it(database_url: str) -> None:
    async with a_storage(database_url) as storage:
        await storage.hold("salut")
        await storage.rows("UPDATE jobs SET pinned = true")
        await storage.say("m-2")
        posting = await storage.send()
        await storage.transitions.takeover(storage.org, "c-1", "zoe")
        await storage.transitions.settle(posting, Accepted())
        found = await why(storage, "m-2")

    assert (found.cause, found.who) == (Cause.HUMAN_HANDLES, "zoe")


async def test_over_http_it_names_who_what_and_next_and_strangers_learn_nothing(database_url: str) -> None:
    async with a_gateway(database_url) as gateway:
        await gateway.organization("acme")
        await gateway.organization("other")
        app = await gateway.key("app", "acme")
        message = {"id": "m-1", "conversation": "c-1", "persona": "maya", "author": "contact", "text": "coucou"}
        said = await gateway.call("POST", "/v1/messages", {**message, "contact": {"id": "fan"}}, key=app)
        found = (await gateway.call("GET", "/v1/explain/m-1", key=app)).json()
        stranger = await gateway.key("operator", "other")
        strangers = [
            (await gateway.call("GET", f"/v1/explain/{subject}", key=stranger)).status_code
            for subject in ("m-1", "c-1", said.json()["job"], "msg_1")
        ]
        unknown = await gateway.call("GET", "/v1/explain/nobody")
        other = await gateway.key("app", "other")
        await gateway.call("POST", "/v1/messages", {**message, "contact": {"id": "fan"}}, key=other)
        twice = await gateway.call("GET", "/v1/explain/c-1")

    assert json.dumps(found["since"])
    head = {"subject": "m-1", "kind": "message", "conversation": "c-1", "job": said.json()["job"], "cause": "debounce"}
    assert head.items() <= found.items()
    assert strangers == [404, 404, 404, 404]
    assert (unknown.status_code, unknown.json()["detail"]) == (404, "no conversation, message or job is called that")
    assert (twice.status_code, twice.json()["organizations"]) == (409, ["acme", "other"])
