"""A message goes in, a reviewed reply comes out: the whole product, seen from the upstream app."""

import json
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from tests.scripts import bubbles, call, done, heard, refused
from tests.stack import Stack, wait_until
from workers.simulator.control import SeenRequest, SimulatorControl

NOTICE_ON: dict[str, Any] = {"disclosure": {"notice": True}}


def blocks(seen: SeenRequest) -> list[Any]:
    return [block for message in seen.json()["messages"] for block in message["content"]]


def contact_texts(seen: SeenRequest) -> str:
    return "\n".join(block["text"] for block in blocks(seen) if block["type"] == "text")


async def test_message_becomes_a_delivered_reply(stack: Stack, model: SimulatorControl) -> None:
    talk = stack.organization()
    await model.script(bubbles("Coucou Léo !", "Tu vas bien ?"), done(), match=talk.marker, task="reply")

    job = talk.ended(talk.say("salut")["job"])

    assert talk.texts() == ["Coucou Léo !", "Tu vas bien ?"]
    assert [(c["ordinal"], c["kind"], c["state"]) for c in job["candidates"]] == [
        (0, "text", "sent"),
        (1, "text", "sent"),
    ]
    assert job["usage"]["calls"] == 3, "two of the agent, one review"
    assert stack.receiver.forged == 0


async def test_a_text_too_long_for_the_channel_arrives_whole_in_several_bubbles(
    stack: Stack, model: SimulatorControl
) -> None:
    talk = stack.organization(limits={"max_chars": 10_000})
    story = " ".join(f"Le jour {n}, j'ai marché jusqu'à la mer et j'ai pensé à toi 🌊." for n in range(90))
    await model.script(bubbles("Écoute :", story, "Voilà !"), done(), match=talk.marker, task="reply")

    job = talk.ended(talk.say("raconte")["job"])

    posts = stack.receiver.applied(talk.name)
    texts = [post["text"] for post in posts]
    assert (texts[0], " ".join(texts[1:-1]), texts[-1]) == ("Écoute :", story, "Voilà !")
    assert [len(text.encode("utf-16-le")) // 2 <= 4096 for text in texts] == [True] * 4
    assert [text.endswith("🌊.") for text in texts[1:-1]] == [True, True]
    assert [(post["ordinal"], post["id"]) for post in posts] == [(c["ordinal"], c["id"]) for c in job["candidates"]]


async def test_first_bubble_to_a_contact_is_preceded_by_the_notice_once(stack: Stack, model: SimulatorControl) -> None:
    talk = stack.organization(**NOTICE_ON)
    await model.script(bubbles("Coucou !"), done(), bubbles("Oui, ça va."), done(), match=talk.marker, task="reply")

    talk.ended(talk.say("salut")["job"])
    talk.ended(talk.say("ça va ?")["job"])

    posts = stack.receiver.applied(talk.name)
    assert [(p["ordinal"], p["kind"]) for p in posts] == [(0, "notice"), (1, "text"), (0, "text")]
    assert all(p["ai_generated"] is True for p in posts)


async def test_three_messages_in_a_row_get_one_reply_that_has_read_all_three(
    stack: Stack, model: SimulatorControl
) -> None:
    talk = stack.organization(debounce={"quiet_seconds": 0.8, "max_wait_seconds": 10})
    await model.script(bubbles("Je lis tout."), done(), match=talk.marker, task="reply")

    answers = [talk.say(text) for text in ("un", "deux", "trois")]
    talk.ended(answers[0]["job"])

    first = (await heard(model, talk.marker))[0]
    assert {answer["job"] for answer in answers} == {answers[0]["job"]}
    assert len(talk.jobs()) == 1
    assert all(f"{word} {talk.marker}" in contact_texts(first) for word in ("un", "deux", "trois"))


async def test_a_contact_who_never_stops_is_answered_at_max_wait(stack: Stack, model: SimulatorControl) -> None:
    talk = stack.organization(debounce={"quiet_seconds": 3, "max_wait_seconds": 6})
    await model.script(*[bubbles("Enfin !", delay=0.1), done()] * 4, match=talk.marker, task="reply")
    start = time.monotonic()

    first_call: float | None = None
    for n in range(8):
        talk.say(f"message {n}")
        while time.monotonic() < start + 1.5 * (n + 1):
            if first_call is None and await heard(model, talk.marker):
                first_call = time.monotonic() - start
            time.sleep(0.05)

    assert first_call is not None
    assert 5.5 <= first_call <= 8


async def test_one_message_id_from_eight_threads_is_one_message_and_one_reply(
    stack: Stack, model: SimulatorControl
) -> None:
    talk = stack.organization()
    await model.script(bubbles("Une fois."), done(), match=talk.marker, task="reply")

    with ThreadPoolExecutor(8) as threads:
        answers = list(threads.map(lambda _: talk.say("bonjour", id=f"{talk.name}-same"), range(8)))
    job = talk.ended(answers[0]["job"])

    assert [a["duplicate"] for a in answers].count(False) == 1
    assert {a["job"] for a in answers} == {job["id"]}
    shown = talk.call("GET", f"/v1/conversations/{talk.name}")
    assert [m["author"] for m in shown["messages"]] == ["contact", "ai"]
    assert talk.texts() == ["Une fois."]


async def test_new_message_while_the_model_thinks_makes_the_reply_start_again(
    stack: Stack, model: SimulatorControl
) -> None:
    talk = stack.organization()
    await model.script(bubbles("Périmé.", delay=1.2), bubbles("Frais."), done(), match=talk.marker, task="reply")

    job = talk.say("première")["job"]
    wait_until(lambda: talk.job(job)["state"] == "running", 10, "the run to begin")
    time.sleep(0.3)
    second = talk.say("seconde")
    ended = talk.ended(job)

    assert second["job"] == job
    assert talk.texts() == ["Frais."]
    assert ended["usage"]["discarded_cost_usd"] != "0"
    last = (await heard(model, talk.marker))[-1]
    assert f"seconde {talk.marker}" in contact_texts(last)


async def test_new_message_in_the_window_recalls_the_reply(stack: Stack, model: SimulatorControl) -> None:
    talk = stack.organization(control_window_seconds=30)
    await model.script(bubbles("Périmé."), done(), bubbles("Frais."), done(), match=talk.marker, task="reply")

    stale = talk.say("première")["job"]
    talk.reaches(stale, "held")
    fresh = talk.say("seconde")["job"]
    talk.reaches(fresh, "held")
    talk.call("POST", f"/v1/jobs/{fresh}/approve", status=200)
    talk.ended(fresh)

    assert talk.ended(stale, "superseded")["candidates"][0]["state"] == "recalled"
    assert talk.texts() == ["Frais."]


async def test_what_comes_behind_a_reply_that_stands_is_answered_although_our_bubbles_stand_last(
    stack: Stack, model: SimulatorControl
) -> None:
    talk = stack.organization(control_window_seconds=30)
    for n in range(4):
        pinned = talk.say(f"ça va ? {n}")["job"]
        talk.reaches(pinned, "held")
    behind = talk.say("je pense à la montagne")["job"]
    talk.call("POST", f"/v1/jobs/{pinned}/approve", status=200)
    talk.ended(pinned)
    successor = talk.jobs()[-1]["id"]
    talk.reaches(successor, "held")
    talk.call("POST", f"/v1/jobs/{successor}/approve", status=200)
    job = talk.ended(successor)

    assert (behind, successor != pinned, job["code"]) == (pinned, True, None)
    shown = talk.call("GET", f"/v1/conversations/{talk.name}")["messages"]
    assert [m["author"] for m in shown][4:7] == ["contact", "ai", "ai"], "it stands before our bubbles"
    first = next(seen for seen in await heard(model, talk.marker) if "still wait for a reply" in seen.body)
    waiting = next(text for text in contact_texts(first).split("<run_context>")[1:])
    assert "je pense à la montagne" in waiting
    assert "ça va ?" not in waiting


async def test_refusing_receiver_gets_the_same_id_again_and_the_order_holds(
    stack: Stack, model: SimulatorControl
) -> None:
    talk = stack.organization()
    stack.receiver.answers[talk.name] = [503, 503]
    await model.script(bubbles("Un.", "Deux."), done(), match=talk.marker, task="reply")

    talk.ended(talk.say("salut")["job"], seconds=30)

    posts = stack.receiver.of(talk.name)
    assert [p.status for p in posts] == [503, 503, 200, 200]
    assert len({p.id for p in posts[:3]}) == 1
    assert talk.texts() == ["Un.", "Deux."]


async def test_two_conversations_of_a_persona_share_the_prefix_and_the_cache_is_read(
    stack: Stack, model: SimulatorControl
) -> None:
    one = stack.organization(instructions="Maya voyage, peint et cuisine. " * 80)
    two = one.another()
    for talk in (one, two):
        await model.script(bubbles("Coucou."), bubbles("Dis-moi tout."), done(), match=talk.marker, task="reply")
        talk.ended(talk.say("salut")["job"])

    first, second = await heard(model, one.marker), await heard(model, two.marker)
    prefixes = {json.dumps([s.json()["tools"], s.json()["system"]]) for s in [*first, *second]}
    assert len(prefixes) == 1
    for calls in (first, second):
        assert [s.usage["cache_read_input_tokens"] > 0 for s in calls if s.usage][1:] == [True, True]
    assert second[0].usage is not None
    assert second[0].usage["cache_read_input_tokens"] > 500, "the second conversation reads the first one's prefix"


async def test_takeover_stops_the_ai_and_resume_answers_what_came_meanwhile(
    stack: Stack, model: SimulatorControl
) -> None:
    talk = stack.organization(control_window_seconds=30)
    await model.script(
        bubbles("Pas maintenant."), done(), bubbles("Me revoilà."), done(), match=talk.marker, task="reply"
    )

    job = talk.say("salut")["job"]
    talk.reaches(job, "held")
    talk.call("POST", f"/v1/conversations/{talk.name}/takeover", status=200)
    silent = talk.say("tu es là ?")
    talk.call("POST", f"/v1/conversations/{talk.name}/takeover", status=409)
    resumed = talk.call("POST", f"/v1/conversations/{talk.name}/resume", status=200)["job"]
    talk.reaches(resumed, "held")
    talk.call("POST", f"/v1/jobs/{resumed}/approve", status=200)
    talk.ended(resumed)

    assert talk.ended(job, "cancelled")["candidates"][0]["state"] == "recalled"
    assert (silent["job"], silent["reason"]) == (None, "human_handles")
    assert talk.texts() == ["Me revoilà."]


async def test_cancelled_reply_never_leaves_and_a_late_cancel_says_what_it_found(
    stack: Stack, model: SimulatorControl
) -> None:
    talk = stack.organization(control_window_seconds=30)
    await model.script(bubbles("Non."), done(), match=talk.marker, task="reply")
    job = talk.say("salut")["job"]
    talk.reaches(job, "held")

    talk.call("POST", f"/v1/jobs/{job}/cancel", status=200)
    late = talk.call("POST", f"/v1/jobs/{job}/cancel", status=409)

    assert (late["code"], late["state"]) == ("AR-409", "cancelled")
    time.sleep(1)
    assert talk.texts() == []


async def test_left_on_read_ends_well_and_says_so_in_the_conversation(stack: Stack, model: SimulatorControl) -> None:
    talk = stack.organization()
    await model.script({"calls": [call("leave_on_read", reason="rien à dire")]}, match=talk.marker, task="reply")

    job = talk.ended(talk.say("ok")["job"], "silent")

    read = wait_until(lambda: stack.receiver.of(talk.name, "message.read"), 10, "message.read")
    shown = talk.call("GET", f"/v1/conversations/{talk.name}")
    assert (job["code"], job["attention"], len(read)) == (None, False, 1)
    assert [m["author"] for m in shown["messages"]] == ["contact", "system"]
    assert shown["follow_up_at"] is not None


async def test_whitespace_ends_silent_with_its_code(stack: Stack) -> None:
    talk = stack.organization()
    body = {
        "id": f"{talk.name}-blank",
        "conversation": talk.name,
        "persona": "maya",
        "author": "contact",
        "contact": {"id": "fan"},
        "text": "  \n ",
    }

    job = talk.ended(talk.call("POST", "/v1/messages", json=body, status=202)["job"], "silent")

    assert (job["code"], job["attention"]) == ("AR-510", False)


async def test_provider_that_asks_to_wait_parks_the_job_and_nothing_fails(
    stack: Stack, model: SimulatorControl
) -> None:
    talk = stack.organization()
    await model.script(
        {"fault": {"kind": "rate_limited", "retry_after": 1}},
        {"fault": "overloaded"},
        bubbles("Me voilà."),
        done(),
        match=talk.marker,
        task="reply",
    )

    job = talk.ended(talk.say("salut")["job"], seconds=30)

    assert talk.texts() == ["Me voilà."]
    assert job["attempts"] >= 3


async def test_simulator_saw_no_request_that_the_api_would_refuse(stack: Stack, model: SimulatorControl) -> None:
    talk = stack.organization()
    talk.ended(talk.say("salut, tu fais quoi ?")["job"])

    assert await refused(model) == []
    assert talk.texts() != []
