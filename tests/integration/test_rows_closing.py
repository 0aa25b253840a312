"""Row 36 of docs/TRANSITIONS.md as stories: a contact wants silence, or a safety stop locks them; who opens that again.

Told as in test_rows.py. What a closed gate does to each later step is told here too.
"""

from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest

from pipelines.autoreply.stops import stopped
from schemas.claims import Accepted, Ended, JobState, Lost, Refused
from schemas.conversation import Flag
from schemas.decisions import Failure, Reply, Silence, SilenceReason
from schemas.errors import Code
from schemas.honesty import Alarm
from schemas.jobs import AutoReply, DelayedSend
from tests.builders_storage import a_reply
from tests.scene import Scene, a_scene

MINOR = "j'ai 15 ans"
WITHOUT_EVENTS = {"candidates", "usage", "events", "trace"}
DONE = ("C'est noté : tu ne recevras plus de messages ici.", "Understood: you will not get any more messages here.")


@pytest.fixture
async def scene(database_url: str) -> AsyncIterator[Scene]:
    async with a_scene(database_url, {"language": "fr"}) as made:
        yield made


async def deliver(scene: Scene, job: int, conversation: int = 1) -> str | None:
    """A send worker looks at the job; answers the text that left."""
    posting = await scene.storage.claim_send(DelayedSend(conversation=conversation, job=job))
    if posting is None:
        return None
    await scene.storage.settle(posting, Accepted())  # type: ignore[arg-type]
    found: str = await scene.one("SELECT text FROM messages ORDER BY id DESC LIMIT 1")
    return found


async def records(scene: Scene) -> list[str]:
    shown = await scene.call("GET", "conversations/c-1/consent")
    return [" ".join(str(item[key]) for key in ("act", "who", "rule", "message", "job")) for item in shown["items"]]


# ---------------------------------------------------------------- silence


async def test_stop_ends_its_own_job_silent_and_is_confirmed_once(scene: Scene) -> None:
    said = await scene.say(text="STOP")
    told = await deliver(scene, 2)
    again = await scene.say(text="stop")

    assert (said["job"], said["reason"], again["job"], again["reason"]) == ("job_1", "opted_out", None, "opted_out")
    assert await scene.jobs() == ["silent 1", "sent 1"]
    assert await scene.bubbles() == [f"0 notice sent {told}"]
    assert told == DONE[0]
    assert await records(scene) == ["opted_out contact stop_word m-1 job_1"]
    lines = await scene.lines("SELECT position, author, text FROM messages ORDER BY position")
    assert lines[:2] == ["1 contact STOP", "2 system the contact wants no more messages"]


async def test_stop_takes_away_what_is_held_in_every_conversation_of_the_contact(scene: Scene) -> None:
    await scene.reply("un")
    await scene.say(conversation="c-2")
    await scene.say(text="arrête de m'écrire", conversation="c-3")

    found = await scene.lines(
        "SELECT c.name, j.state, j.reason FROM jobs j JOIN conversations c ON c.id = j.conversation_id"
        " WHERE j.kind <> 'delivery' ORDER BY j.id"
    )
    assert found == ["c-1 cancelled opted_out", "c-2 cancelled opted_out", "c-3 silent opted_out"]
    assert (await scene.bubbles())[0] == "0 text recalled un"


@pytest.mark.parametrize("state", ["queued", "running", "held", "pinned", "sending"])
async def test_stop_meets_a_live_job(scene: Scene, state: str) -> None:
    claim = None
    if state in ("queued", "running"):
        await scene.say()
        claim = await scene.claim() if state == "running" else None
    else:
        await scene.reply("un", "deux")
        if state == "sending":
            await scene.send()
        if state == "pinned":
            await scene.one("UPDATE jobs SET pinned = true")
    await scene.say(text="STOP")

    ended = [job for job in await scene.jobs() if not job.startswith("sending")]
    assert ended == (["silent 2"] if state == "queued" else ["cancelled 1", "silent 2"])
    if claim is not None:
        assert isinstance(await scene.storage.record(claim, a_reply("trop tard")), Lost)


async def test_a_bubble_in_flight_when_stop_comes_finishes_and_the_confirmation_follows_it(scene: Scene) -> None:
    await scene.reply("un", "deux")
    posting = await scene.leave()
    await scene.say(text="STOP")
    too_early = await deliver(scene, 3)
    await scene.storage.settle(posting, Accepted())
    await scene.make_due()

    assert (too_early, await deliver(scene, 3)) == (None, DONE[0])
    assert await scene.bubbles() == ["0 text sent un", "1 text recalled deux", f"0 notice sent {DONE[0]}"]


async def test_a_stop_that_an_edit_says_leaves_its_line_too(scene: Scene) -> None:
    await scene.say(text="coucou")
    await scene.call("PATCH", "messages/m-1", {"text": "STOP"})

    lines = await scene.lines("SELECT position, author, text FROM messages ORDER BY position")
    assert lines == ["1 contact STOP", "2 system the contact wants no more messages"]


async def test_what_came_while_it_was_closed_is_answered_when_a_person_retries_what_closed_it(scene: Scene) -> None:
    await scene.say(text=MINOR)
    await scene.say(text="pardon, 15 ans d'expérience !")
    for who in ("zoe", "max"):
        key = await scene.gateway.key("operator", "acme", who)
        await scene.conversation("reopen", {"reason": "il a 51 ans"}, key=key)
    none = await scene.jobs()
    await scene.steer("retry", job=1)
    claim = await scene.claim()

    assert none == ["failed 1 AR-532"]
    assert await scene.jobs() == ["running 2"]
    assert claim is not None
    assert [turn.text for turn in claim.case.turns] == [MINOR, "pardon, 15 ans d'expérience !"]
    assert stopped(claim.case) is None


async def test_a_closing_notice_that_was_given_up_is_retried(scene: Scene) -> None:
    await scene.say(text="STOP")
    posting = await scene.storage.claim_send(DelayedSend(conversation=1, job=2))
    await scene.storage.settle(posting, Refused("no", final=True))  # type: ignore[arg-type]
    given_up = await scene.jobs()
    shown = await scene.steer("retry", job=2)
    told = await deliver(scene, 2)

    assert (given_up, scene.answers[-1]) == (["silent 1", "failed 1 AR-560"], 200), shown
    assert told == DONE[0]
    assert await scene.jobs() == ["silent 1", "sent 1"]


async def test_stop_is_heard_while_a_person_handles_the_conversation_and_in_an_edit(scene: Scene) -> None:
    await scene.say()
    await scene.conversation("takeover")
    await scene.call("PATCH", "messages/m-1", {"text": "STOP"})

    assert (scene.answers[-1], await scene.one("SELECT opted_out_at IS NOT NULL FROM contacts")) == (202, True)


async def test_consent_opens_it_again_and_another_stop_closes_it_again(scene: Scene) -> None:
    await scene.say(text="STOP")
    shut = await scene.say()
    await scene.conversation("consent", {"how": "form", "proof": "ticket 12"})
    opened = await scene.say()
    await scene.say(text="STOP")

    assert (shut["reason"], scene.answers, opened["reason"]) == ("opted_out", [202, 202, 200, 202, 202], None)
    assert [line.split()[0] for line in await records(scene)] == ["opted_out", "opted_in", "opted_out"]


async def test_a_second_stop_from_before_the_consent_closes_nothing_again(scene: Scene) -> None:
    await scene.say(text="STOP")
    await scene.say(text="stop")
    await scene.conversation("consent")
    await scene.say()
    claim = await scene.claim()

    assert claim is not None
    assert (len(claim.case.turns), stopped(claim.case)) == (3, None)


async def test_what_was_said_before_a_reopening_locks_nothing_again(scene: Scene) -> None:
    second = await scene.gateway.key("operator", "acme", name="zoe")
    await scene.say(text=MINOR)
    await scene.conversation("reopen", {"reason": "a typo"})
    await scene.conversation("reopen", key=second)
    await scene.say()
    claim = await scene.claim()

    assert claim is not None
    assert ([turn.answered for turn in claim.case.turns], stopped(claim.case)) == ([False, False], None)


async def test_consent_needs_no_body_and_a_conversation(scene: Scene) -> None:
    await scene.say()
    await scene.conversation("consent")
    await scene.call("POST", "conversations/c-9/consent", {})
    await scene.conversation("consent", {"how": 1})

    assert scene.answers[1:] == [200, 404, 422]


async def test_the_run_that_finds_it_ends_silent_and_closes(scene: Scene) -> None:
    """Two bubbles that only together say it."""
    await scene.say(text="stp arrête")
    await scene.say(text="de m'écrire")
    silence = Silence(SilenceReason.OPTED_OUT, detail="stop_request", alarm=Alarm(stop="stop_request", position=2))
    recorded = await scene.decide(silence)

    assert recorded == Ended(JobState.SILENT, None)
    assert await scene.jobs() == ["silent 2", "sending 2"]
    assert await records(scene) == ["opted_out contact stop_request m-2 job_1"]


# ---------------------------------------------------------------- safety


async def test_a_minor_stops_everything_of_the_contact_without_a_model(scene: Scene) -> None:
    await scene.reply("un")
    await scene.say(conversation="c-2")
    said = await scene.say(text=MINOR)

    assert (said["job"], said["reason"]) == ("job_3", "safety_lock")
    assert await scene.jobs() == ["cancelled 1", "cancelled 1", "failed 2 AR-532"]
    assert await scene.one("SELECT reason || attention FROM jobs WHERE id = 3") == "minor_signalopen"
    assert await scene.one("SELECT body::jsonb #>> '{data,code}' FROM deliveries") == "AR-532"
    assert await records(scene) == ["locked contact says_age m-3 job_3"]
    later = await scene.say()
    assert (later["job"], later["reason"]) == (None, "safety_lock")


async def test_a_safety_stop_is_told_as_critical_and_a_failure_as_any_other(scene: Scene) -> None:
    await scene.say(text="coucou")
    await scene.decide(Failure(Code.NO_CANDIDATE, "nothing to send"))
    await scene.say(text=MINOR)
    shown = await scene.call("GET", "jobs?attention=true")
    told = await scene.lines("SELECT body::jsonb #>> '{data,severity}' FROM deliveries WHERE candidate_id IS NULL")
    await scene.call("POST", "attention/job_2/dismiss", {"reason": "vu"})

    assert [(job["code"], job["severity"]) for job in shown["items"]] == [("AR-532", "critical"), ("AR-552", "normal")]
    assert told == ["normal", "critical"]
    assert (await scene.call("GET", "jobs/job_2"))["severity"] is None


async def test_no_word_of_the_contact_is_kept_as_evidence_besides_the_message(scene: Scene) -> None:
    await scene.say(text=MINOR)

    kept = await scene.lines(
        "SELECT t::text FROM consent_records t UNION ALL SELECT t::text FROM job_events t"
        " UNION ALL SELECT t::text FROM audit_log t UNION ALL SELECT t.body FROM deliveries t"
    )
    assert [line for line in kept if "15 ans" in line] == []


async def test_reopening_takes_two_people_and_a_reason(scene: Scene) -> None:
    second = await scene.gateway.key("operator", "acme", name="zoe")
    await scene.say(text=MINOR)
    without = await scene.conversation("reopen")
    first = await scene.conversation("reopen", {"reason": "it was a typo: 51"})
    same = await scene.conversation("reopen", {"reason": "really"})
    confirmed = await scene.conversation("reopen", key=second)
    late = await scene.conversation("reopen", {"reason": "again"}, second)

    assert scene.answers[1:] == [422, 202, 409, 200, 409]
    assert [error["field"] for error in without["errors"]] == ["reason"]
    assert (first["state"], same["state"], same["by"]) == ("pending", "pending", "operator-acme")
    assert (confirmed["state"], confirmed["asked_by"], confirmed["confirmed_by"]) == ("open", "operator-acme", "zoe")
    assert (late["state"], late["by"]) == ("open", "zoe")
    assert (await scene.say())["reason"] is None


async def test_a_lock_that_comes_in_between_wants_both_people_anew(scene: Scene) -> None:
    second = await scene.gateway.key("operator", "acme", name="zoe")
    await scene.say(text=MINOR)
    await scene.conversation("reopen", {"reason": "a typo"})
    await scene.conversation("reopen", {"reason": "yes"}, second)
    await scene.say(text="j'ai 16 ans en fait")
    await scene.conversation("reopen", {"reason": "no"}, second)

    assert scene.answers[-1] == 202
    assert await scene.one("SELECT locked_at IS NOT NULL FROM contacts") is True


async def test_an_app_may_not_reopen_and_reopening_is_not_for_who_is_not_locked(scene: Scene) -> None:
    await scene.say()
    await scene.conversation("reopen", {"reason": "why not"})
    app = await scene.gateway.key("app", "acme", name="their app")
    await scene.conversation("reopen", {"reason": "why not"}, app)

    assert scene.answers[1:] == [409, 403]


async def test_who_has_opted_out_is_locked_all_the_same_and_the_other_way_round(scene: Scene) -> None:
    await scene.say(text="STOP")
    await scene.say(text="je veux mourir")
    await scene.say(text="STOP")

    assert [job for job in await scene.jobs() if job.startswith("failed")] == ["failed 2 AR-532"]
    assert [line.split()[0] for line in await records(scene)] == ["opted_out", "locked"]


async def test_the_crisis_text_of_the_country_goes_out_when_the_organisation_wants_it(scene: Scene) -> None:
    await scene.one(
        "UPDATE organizations SET version = version + 1,"
        """ spec = spec || '{"country": "FR", "flags": {"ai_rag_enabled": null, "crisis_notice": true}}'"""
    )
    await scene.say(text="je veux mourir")

    assert "3114" in str(await deliver(scene, 2))
    assert await scene.jobs() == ["failed 1 AR-532", "sent 1"]


async def test_the_crisis_text_stays_unless_it_is_wanted(scene: Scene) -> None:
    await scene.say(text="je veux mourir")

    assert await scene.jobs() == ["failed 1 AR-532"]


async def test_a_notice_that_closes_is_no_disclosure(database_url: str) -> None:
    async with a_scene(database_url, {"disclosure": {"notice": True}}) as scene:
        await scene.say(text="STOP")
        await deliver(scene, 2)

        assert await scene.one("SELECT noticed_at IS NULL FROM contacts") is True


async def test_the_run_that_finds_a_danger_fails_and_locks_what_else_is_live(scene: Scene) -> None:
    await scene.say(conversation="c-2")
    await scene.say()
    claim = await scene.storage.claim_run(AutoReply(conversation=2, job=2))
    assert claim is not None
    await scene.say()
    found = Failure(Code.SAFETY_STOP, "minor_signal", alarm=Alarm(danger="answers_age", position=1))
    recorded = await scene.storage.record(claim, found)

    assert recorded == Ended(JobState.FAILED, Code.SAFETY_STOP)
    assert await scene.jobs() == ["cancelled 1", "failed 1 AR-532", "cancelled 2"]


async def test_erased_contacts_are_not_told_anything(scene: Scene) -> None:
    await scene.say(text="STOP")
    await scene.one("UPDATE contacts SET erased_at = clock_timestamp()")
    told = await deliver(scene, 2)
    later: Any = await scene.say(text=MINOR)

    assert (told, later["reason"]) == (None, "erased")
    assert await scene.jobs() == ["silent 1", "cancelled 1"]


async def test_retry_and_approve_stay_shut_while_it_is_closed(scene: Scene) -> None:
    await scene.say(text="STOP")
    late = await scene.steer("retry", job=1)

    assert (late["status"], late["reason"]) == (409, "opted_out")


# ---------------------------------------------------------------- who asks whether a machine writes


@pytest.fixture
async def asked(scene: Scene) -> Scene:
    """The question has ended a run, AR-531."""
    await scene.say(text="t'es un bot ?")
    claim = await scene.claim()
    assert claim is not None
    decision = stopped(claim.case)
    assert isinstance(decision, Failure)
    await scene.storage.record(claim, decision)
    return scene


TRUE = (
    "Les messages que tu reçois ici sont écrits par un assistant IA au nom de maya.",
    "Une personne de l'équipe a lu ta question.",
)


async def test_an_identity_question_leaves_true_replies_that_nothing_sends(asked: Scene) -> None:
    shown = await asked.call("GET", "jobs/job_1")

    assert (shown["state"], shown["code"], shown["attention"], shown["due_at"]) == ("failed", "AR-531", True, None)
    assert [(bubble["state"], bubble["text"]) for bubble in shown["candidates"]] == [("held", text) for text in TRUE]
    assert await asked.take() is None


async def test_a_person_edits_drops_and_approves_them(asked: Scene) -> None:
    await asked.drop(2)
    await asked.edit(1, text="Oui, c'est une IA qui t'écrit.")
    await asked.steer("approve")
    await asked.send()

    assert asked.answers[1:] == [200, 200, 200]
    assert await asked.jobs() == ["sent 1"]
    assert await asked.bubbles() == ["0 text sent Oui, c'est une IA qui t'écrit.", "1 text dropped " + TRUE[1]]


async def test_no_edit_makes_the_ai_say_that_it_is_human(asked: Scene) -> None:
    refused = await asked.edit(1, text="mais non, je suis pas un bot")

    assert (refused["status"], [error["field"] for error in refused["errors"]]) == (422, ["text"])


async def test_dropping_all_of_them_leaves_the_question_to_a_person(asked: Scene) -> None:
    await asked.drop(1)
    await asked.drop(2)
    late = await asked.steer("approve")

    assert (late["status"], late["reason"]) == (409, "no prepared reply is left")
    assert await asked.jobs() == ["failed 1 AR-531"]


async def test_a_newer_message_asks_for_another_look(asked: Scene) -> None:
    await asked.say(text="alors ?")
    late = await asked.steer("approve", job=1)
    claim = await asked.claim()

    assert (late["status"], late["newer_job"]) == (409, "job_2")
    assert claim is not None
    assert isinstance(stopped(claim.case), Failure)


async def test_who_was_answered_by_hand_is_answered_by_the_ai_again(asked: Scene) -> None:
    await asked.say(author="operator", text="oui, une IA, et moi c'est Zoé")
    await asked.conversation("resume")
    await asked.say(text="ok merci")
    claim = await asked.claim()

    assert claim is not None
    assert stopped(claim.case) is None


async def test_the_notice_goes_before_a_true_reply_when_it_is_due(database_url: str) -> None:
    async with a_scene(database_url, {"disclosure": {"notice": True}}) as scene:
        await scene.say(text="are you a bot?")
        claim = await scene.claim()
        assert claim is not None
        decision = stopped(claim.case)
        assert isinstance(decision, Failure)
        await scene.storage.record(claim, decision)

        assert [line.split()[:3] for line in await scene.bubbles()] == [
            ["0", "notice", "held"],
            ["1", "text", "held"],
            ["2", "text", "held"],
        ]


# ---------------------------------------------------------------- a person is told, and the reply goes its way


@pytest.mark.parametrize("way", ["sent", "superseded", "cancelled"])
async def test_what_a_person_was_told_stays_until_it_is_dismissed(scene: Scene, way: str) -> None:
    await scene.say(text="je suis à découvert")
    await scene.decide(replace(a_reply("courage"), flag=Flag.MONEY_DISTRESS))
    match way:
        case "sent":
            await scene.steer("approve")
            while await deliver(scene, 1):
                await scene.one("UPDATE jobs SET due_at = clock_timestamp() WHERE state = 'sending'")
        case "superseded":
            await scene.say(text="tu es là ?")
        case _:
            await scene.call("POST", "jobs/job_1/cancel")
    shown = await scene.call("GET", "jobs?attention=true")
    await scene.call("POST", "attention/job_1/dismiss", {"reason": "appelé"})
    after = await scene.call("GET", "jobs?attention=true")

    assert [(job["id"], job["code"], job["note"]) for job in shown["items"]] == [("job_1", None, "money_distress")]
    assert after["items"] == []
    assert (await scene.jobs())[0] == f"{way} 1"


async def test_a_flag_outlives_the_complaint_that_an_approval_settles(scene: Scene) -> None:
    await scene.say(text="je suis à découvert")
    await scene.decide(replace(a_reply("courage"), flag=Flag.MONEY_DISTRESS))
    await scene.one("UPDATE jobs SET code = 'AR-561', reason = 'speech_failed', on_hold = true, due_at = NULL")
    await scene.call("POST", "jobs/job_1/approve")

    assert await scene.lines("SELECT code, attention FROM jobs") == ["None open"]


@pytest.mark.parametrize(("flag", "told"), [(Flag.LINKS, 1), (Flag.SPEND, 1), (Flag.MONEY_DISTRESS, 2)])
async def test_what_holds_all_day_is_told_once_a_day(scene: Scene, flag: Flag, told: int) -> None:
    for _ in range(2):
        await scene.say(text="coucou")
        await scene.decide(replace(Silence(SilenceReason.LEFT_ON_READ, read=True), flag=flag))

    shown = await scene.call("GET", "jobs?attention=true")
    assert len(shown["items"]) == told

    await scene.one("UPDATE jobs SET created_at = created_at - interval '25 hours'")
    await scene.say(text="coucou")
    await scene.decide(replace(Silence(SilenceReason.LEFT_ON_READ, read=True), flag=flag))
    assert len((await scene.call("GET", "jobs?attention=true"))["items"]) == told + 1


@pytest.mark.parametrize("decision", [a_reply("courage"), Silence(SilenceReason.LEFT_ON_READ, read=True)])
async def test_a_flagged_job_is_on_the_attention_list(scene: Scene, decision: Reply | Silence) -> None:
    await scene.say(text="je suis à découvert")
    await scene.decide(replace(decision, flag=Flag.MONEY_DISTRESS))
    shown = await scene.call("GET", "jobs?attention=true")

    assert [(job["id"], job["code"], job["note"]) for job in shown["items"]] == [
        ("job_1", None, shown["items"][0]["note"])
    ]
    assert "money_distress" in shown["items"][0]["note"]
    told = await scene.lines("SELECT body::jsonb #>> '{data,reason}' FROM deliveries WHERE type = 'attention.raised'")
    assert told == ["money_distress"]
