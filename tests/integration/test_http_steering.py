"""What operators do over HTTP: send now, cancel, take over, give back; and what they are told when they are late."""

from typing import Any

import psycopg

from schemas.decisions import Failure
from schemas.errors import Code
from schemas.ids import number_of
from schemas.jobs import AutoReply, DelayedSend
from tests.builders_face import ADMIN, Gateway, a_gateway
from tests.builders_storage import a_reply
from tests.scene import a_scene
from workers.gateway.routing import DONE

PERSONA = {
    "name": "maya",
    "debounce": {"quiet_seconds": 0, "max_wait_seconds": 0},
    "pacing": {"base_ms": 0, "per_char_ms": 0, "jitter": 0},
}


async def say(gateway: Gateway, text: str = "coucou", author: str = "contact", name: str = "m-1") -> str | None:
    body = {
        "id": name,
        "conversation": "c-1",
        "persona": "maya",
        "author": author,
        "contact": {"id": "f"},
        "text": text,
    }
    answer = await gateway.call("POST", "/v1/messages", body, key=await gateway.key("app", "acme"))
    job: str | None = answer.json()["job"]
    return job


async def held(gateway: Gateway, *texts: str) -> str:
    """A reply that waits in its window, in an organisation with two operators; answers the job's id."""
    await gateway.organization("acme", PERSONA)
    job = await say(gateway)
    assert job is not None
    number = number_of("job", job)
    assert number is not None
    claim = await gateway.parts.transitions.claim_run(AutoReply(conversation=1, job=number))
    assert claim is not None
    await gateway.parts.transitions.record(claim, a_reply(*texts))
    return job


async def anna(gateway: Gateway) -> str:
    return await gateway.key("operator", "acme")


async def steer(gateway: Gateway, path: str, key: str) -> tuple[int, Any]:
    answer = await gateway.call("POST", f"/v1/{path}", key=key)
    return answer.status_code, answer.json()


async def test_who_is_not_told_what_an_action_made_is_told_that_it_is_done(database_url: str) -> None:
    async with a_gateway(database_url) as gateway:
        job = await held(gateway, "un")
        key = await anna(gateway)
        with psycopg.connect(database_url) as vacuuming:
            vacuuming.execute("LOCK TABLE run_steps IN ACCESS EXCLUSIVE MODE")
            unread, told = await steer(gateway, f"jobs/{job}/hold", key)
        _, again = await steer(gateway, f"jobs/{job}/hold", key)
        shown = await gateway.call("GET", f"/v1/jobs/{job}", key=key)

    assert (unread, told["code"], told["done"], told["detail"]) == (503, "AR-503", True, DONE)
    assert again["state"] == "held"
    assert [event["why"] for event in shown.json()["events"]].count("hold") == 1


async def test_a_conversation_waits_while_its_reply_or_its_failure_waits_for_a_person(database_url: str) -> None:
    async with a_scene(database_url) as scene:

        async def handled_by() -> str:
            shown = await scene.call("GET", "conversations/c-1")
            return f"{shown['handled_by']} {shown['by']}"

        await scene.reply("un")
        seen = [await handled_by()]
        for verb in ("hold", "release"):
            await scene.steer(verb)
            seen.append(await handled_by())
        await scene.say()
        await scene.decide(Failure(Code.NO_CANDIDATE, "nothing to send"))
        seen.append(await handled_by())
        await scene.call("POST", f"attention/job_{await scene.newest()}/dismiss", {"reason": "vu"})
        seen.append(await handled_by())
        await scene.conversation("takeover")

        assert seen == ["ai None", "waiting None", "ai None", "waiting None", "ai None"]
        assert (await handled_by()).startswith("human ")


async def test_approve_makes_the_reply_due_now(database_url: str) -> None:
    async with a_gateway(database_url) as gateway:
        job = await held(gateway, "salut")
        before = (await gateway.call("GET", f"/v1/jobs/{job}")).json()
        status, approved = await steer(gateway, f"jobs/{job}/approve", await anna(gateway))
        due = await gateway.run("SELECT due_at <= clock_timestamp() FROM jobs")

    assert (status, approved["state"], due) == (200, "held", True)
    assert approved["due_at"] < before["due_at"]
    assert [bubble["kind"] for bubble in approved["candidates"]] == ["notice", "text"]
    assert approved["events"][-1]["who"] == "operator-acme"


async def test_cancel_answers_every_bubble_and_late_calls_say_what_they_found(database_url: str) -> None:
    async with a_gateway(database_url) as gateway:
        job = await held(gateway, "salut", "ça va ?")
        status, cancelled = await steer(gateway, f"jobs/{job}/cancel", await anna(gateway))
        shown = (await gateway.call("GET", f"/v1/jobs/{job}")).json()
        late = [await steer(gateway, f"jobs/{job}/{verb}", ADMIN) for verb in ("cancel", "approve")]

    assert (status, cancelled["job"]) == (200, job)
    assert cancelled["candidates"] == [{"id": b["id"], "state": "recalled"} for b in shown["candidates"]]
    assert len(cancelled["candidates"]) == 3
    for found, problem in late:
        assert (found, problem["code"], problem["state"], problem["by"]) == (
            409,
            "AR-409",
            "cancelled",
            "operator-acme",
        )
        assert problem["at"]


async def test_a_bubble_that_left_is_not_cancelled(database_url: str) -> None:
    async with a_gateway(database_url) as gateway:
        job = await held(gateway, "salut")
        await steer(gateway, f"jobs/{job}/approve", await anna(gateway))
        hint = DelayedSend(conversation=1, job=1)
        notice = await gateway.parts.transitions.claim_send(hint)
        status, cancelled = await steer(gateway, f"jobs/{job}/cancel", await anna(gateway))

    assert notice is not None
    assert (status, [b["state"] for b in cancelled["candidates"]]) == (200, ["leaving", "recalled"])


async def test_two_people_never_take_over_silently(database_url: str) -> None:
    async with a_gateway(database_url) as gateway:
        job = await held(gateway, "salut")
        first = await steer(gateway, "conversations/c-1/takeover", await anna(gateway))
        second = await gateway.call("POST", "/v1/conversations/c-1/takeover", org="acme")
        shown = (await gateway.call("GET", "/v1/conversations/c-1", org="acme")).json()
        ended = (await gateway.call("GET", f"/v1/jobs/{job}")).json()

    assert first == (200, {"conversation": "c-1", "handled_by": "human", "by": "operator-acme"})
    late = second.json()
    assert (second.status_code, late["state"], late["by"]) == (409, "human", "operator-acme")
    assert (shown["handled_by"], shown["by"], shown["job"]) == ("human", "operator-acme", None)
    assert (ended["state"], {b["state"] for b in ended["candidates"]}) == ("cancelled", {"recalled"})


async def test_resume_answers_what_came_meanwhile(database_url: str) -> None:
    async with a_gateway(database_url) as gateway:
        await held(gateway, "salut")
        key = await anna(gateway)
        early = await steer(gateway, "conversations/c-1/resume", key)
        await steer(gateway, "conversations/c-1/takeover", key)
        waiting = await say(gateway, "tu es là ?", name="m-2")
        resumed = await steer(gateway, "conversations/c-1/resume", key)
        again = await steer(gateway, "conversations/c-1/resume", key)

    assert (early[0], early[1]["state"]) == (409, "ai")
    assert waiting is None
    assert resumed == (200, {"conversation": "c-1", "job": "job_2"})
    assert again[0] == 409


def with_bodies(job: str) -> list[tuple[str, str, Any]]:
    return [
        ("POST", f"/v1/jobs/{job}/regenerate", {}),
        ("PATCH", "/v1/candidates/bub_1", {"text": "x"}),
        ("DELETE", "/v1/candidates/bub_1", None),
        ("POST", f"/v1/attention/{job}/dismiss", {"reason": "x"}),
    ]


async def test_nobody_steers_what_belongs_to_others(database_url: str) -> None:
    async with a_gateway(database_url) as gateway:
        job = await held(gateway, "salut")
        await gateway.organization("other")
        stranger = await gateway.key("operator", "other")
        paths = [f"jobs/{job}/{verb}" for verb in ("approve", "hold", "release", "cancel", "retry")]
        paths += ["conversations/c-1/takeover", "conversations/c-1/resume"]
        found = {(await steer(gateway, path, stranger))[0] for path in paths}
        found |= {(await gateway.call(*call, key=stranger)).status_code for call in with_bodies(job)}
        by_header = (await gateway.call("POST", f"/v1/jobs/{job}/cancel", org="other")).status_code
        state = await gateway.run("SELECT state FROM jobs")
        ops = await steer(gateway, f"jobs/{job}/cancel", await gateway.key("ops"))

    assert (found, by_header, state) == ({404}, 404, "held")
    assert ops[0] == 200


async def test_everything_an_operator_does_is_audited_with_who(database_url: str) -> None:
    async with a_gateway(database_url) as gateway:
        job = await held(gateway, "un", "deux", "trois")
        key = await anna(gateway)
        for verb in ("approve", "hold", "release"):
            await steer(gateway, f"jobs/{job}/{verb}", key)
        await gateway.call("PATCH", "/v1/candidates/bub_2", {"text": "UN", "ordinal": 3}, key=key)
        await gateway.call("DELETE", "/v1/candidates/bub_3", key=key)
        await steer(gateway, f"jobs/{job}/cancel", key)
        await gateway.call("POST", f"/v1/jobs/{job}/regenerate", {"instruction": "plus court"}, key=key)
        await steer(gateway, f"jobs/{job}/cancel", key)
        await steer(gateway, f"jobs/{job}/retry", key)
        await gateway.run("UPDATE jobs SET attention = 'open'")
        await gateway.call("POST", f"/v1/attention/{job}/dismiss", {"reason": "seen"}, key=key)
        await steer(gateway, f"jobs/{job}/hold", key)  # too late: it is queued, nothing happened
        await steer(gateway, "conversations/c-1/takeover", key)
        await steer(gateway, "conversations/c-1/resume", key)
        written = await gateway.run(
            "SELECT string_agg(concat_ws(' ', action, subject, NULLIF(facts, '{}')), '\n' ORDER BY id) FROM audit_log"
            " WHERE who = 'operator-acme'"
        )

    assert written.splitlines() == [
        "job.approved job_1",
        "job.held job_1",
        "job.released job_1",
        """candidate.edited bub_2 {"job": "job_1", "changed": ["ordinal", "text"]}""",
        """candidate.dropped bub_3 {"job": "job_1"}""",
        """job.cancelled job_1 {"stopped": 3}""",
        """job.regenerated job_1 {"instruction": "plus court"}""",
        """job.cancelled job_1 {"stopped": 0}""",
        """job.retried job_1 {"code": null}""",
        """attention.dismissed job_1 {"reason": "seen"}""",
        "conversation.taken_over c-1",
        "conversation.resumed c-1",
    ]
