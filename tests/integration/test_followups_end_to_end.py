"""Writing first, and the older engine, through the queue: clock, worker, model, webhook."""

from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg

from tests.builders_storage import open_hours
from tests.scripts import bubbles, call, done, heard
from tests.stack import Stack, Talk, wait_until
from tests.upstream import SECRET
from workers.simulator.control import SeenRequest, SimulatorControl

OPEN = {"proactive_hours": open_hours(), "timezone": "UTC"}
LEFT = {"calls": [call("leave_on_read", reason="il dort")]}
V1 = [
    {"json": {"intent": "question", "because": "il demande"}},
    {"json": {"facts": [], "open_points": ["tu viens ?"], "mood": "gai"}},
    {"json": {"approach": "dire oui", "avoid": []}},
    {"json": {"messages": ["Oui !", "À ce soir ?"]}},
]


def shown(talk: Talk) -> Any:
    return talk.call("GET", f"/v1/conversations/{talk.name}", status=200)


def make_due(talk: Talk) -> None:
    with psycopg.connect(talk.stack.environment["DATABASE_URL"]) as connection:
        connection.execute("UPDATE conversations SET follow_up_at = now() WHERE name = %s", [talk.name])


def said_last(seen: SeenRequest) -> str:
    """The texts of the newest user turn."""
    return "\n".join(b["text"] for b in seen.json()["messages"][-1]["content"] if b["type"] == "text")


def of_trigger(talk: Talk, trigger: str) -> list[Any]:
    return [job for job in talk.jobs() if job["trigger"] == trigger]


async def test_who_was_left_on_seen_is_written_to_twice_at_most(stack: Stack, model: SimulatorControl) -> None:
    talk = stack.organization(**OPEN)
    await model.script(
        LEFT, bubbles("Bien dormi ?"), done(), bubbles("Toujours là ?"), done(), match=talk.marker, task="reply"
    )
    silent = talk.ended(talk.say("je dors", contact={"id": "f", "timezone": "UTC"})["job"], "silent")

    for number in (1, 2):
        make_due(talk)
        wait_until(lambda n=number: len(of_trigger(talk, "follow_up")) == n, 10, "a follow-up")  # type: ignore[misc]
        talk.ended(of_trigger(talk, "follow_up")[-1]["id"])
    make_due(talk)
    wait_until(lambda: shown(talk)["follow_up_at"] is None, 10, "the third one dropped")

    calls = await heard(model, talk.marker)
    first, second = said_last(calls[1]), said_last(calls[3])
    why = talk.call("GET", f"/v1/explain/{talk.name}", status=200)
    assert talk.texts() == ["Bien dormi ?", "Toujours là ?"]
    assert "Why you left the contact on seen: il dort" in first
    assert "Your last follow-up got no answer." not in first
    assert "Your last follow-up got no answer." in second
    assert [(job["state"], job["trigger"]) for job in talk.jobs()] == [
        ("silent", "message"),
        ("sent", "follow_up"),
        ("sent", "follow_up"),
    ]
    assert (silent["reason"], why["cause"]) == ("left_on_read", "answered")
    assert why["sentence"].endswith("was sent; no follow-up: 2 in a row got no answer")


async def test_a_planned_follow_up_is_explained_and_dies_when_the_contact_writes(
    stack: Stack, model: SimulatorControl
) -> None:
    talk = stack.organization(**OPEN)
    await model.script(LEFT, bubbles("Me revoilà."), done(), match=talk.marker, task="reply")
    talk.ended(talk.say("je dors")["job"], "silent")
    planned = shown(talk)["follow_up_at"]
    why = talk.call("GET", f"/v1/explain/{talk.name}", status=200)

    talk.ended(talk.say("réveillé !")["job"])

    assert (why["cause"], why["until"] is not None) == ("silent", True)
    assert why["sentence"].startswith(
        "no reply, on purpose: the agent left the contact on seen; a follow-up is planned for 20"
    )
    assert (planned is None, shown(talk)["follow_up_at"], of_trigger(talk, "follow_up")) == (False, None, [])


WROTE = """
INSERT INTO messages (org_id, conversation_id, name, author, position, seq, text, created_at)
SELECT org_id, id, name || '-old-' || n, 'contact', last_position + n, inbound_seq, 'vieux', %(at)s
FROM conversations, generate_series(1, 3) AS n WHERE name = %(talk)s;
UPDATE conversations SET last_position = last_position + 3 WHERE name = %(talk)s
"""


async def test_the_hour_is_learned_from_the_contacts_other_conversations(stack: Stack, model: SimulatorControl) -> None:
    talk, contact = stack.organization(**OPEN), {"id": "f-habit", "timezone": "UTC"}
    other = talk.another()
    usual = (datetime.now(UTC) + timedelta(hours=5)).replace(minute=10)
    await model.script(bubbles("Oui."), done(), match=other.marker, task="reply")
    await model.script(LEFT, match=talk.marker, task="reply")
    other.ended(other.say("coucou", contact=contact)["job"])
    with psycopg.connect(stack.environment["DATABASE_URL"]) as connection:
        for statement in WROTE.split(";"):
            connection.execute(statement.encode(), {"at": usual - timedelta(days=30), "talk": other.name})

    talk.ended(talk.say("je dors", contact=contact)["job"], "silent")

    assert datetime.fromisoformat(shown(talk)["follow_up_at"]) == usual.replace(minute=0, second=0, microsecond=0)


async def test_both_engines_answer_one_conversation_and_enable_switches_without_a_restart(
    stack: Stack, model: SimulatorControl
) -> None:
    talk = stack.organization()
    await model.script(bubbles("Coucou toi."), done(), bubbles("Me revoilà."), done(), match=talk.marker, task="reply")
    await model.script(*V1, match=talk.marker, task="auxiliary")
    organization = {"kind": "Organization", "name": talk.org, "agent": {"Enable": False}}
    before = talk.call("GET", f"/v1/jobs/{talk.say('coucou')['job']}")
    first = talk.ended(before["id"])

    talk.call("POST", "/v1/apply", json={"resources": [with_webhook(stack, organization)]}, status=200)
    second = talk.ended(talk.say("tu viens ?")["job"])
    talk.call("POST", "/v1/apply", json={"resources": [with_webhook(stack, organization | {"agent": {}})]}, status=200)
    third = talk.ended(talk.say("et là ?")["job"])

    assert talk.texts() == ["Coucou toi.", "Oui !", "À ce soir ?", "Me revoilà."]
    assert [job["engine"] for job in (first, second, third)] == ["v2", "v1", "v2"]
    assert "Enable is off: engine V1 answers in place of V2" in [item.get("note") for item in second["trace"]]
    questions = await heard(model, talk.marker, task="auxiliary")
    assert [len(questions), len(await heard(model, talk.marker, task="review"))] == [4, 3]
    assert second["usage"]["calls"] == 5
    assert [block["text"] for block in questions[0].json()["messages"][1]["content"]] == ["Coucou toi."]


def with_webhook(stack: Stack, document: dict[str, Any]) -> dict[str, Any]:
    return document | {"webhook": {"url": stack.receiver.url, "secret": SECRET}}


async def test_a_persona_of_engine_v1_is_played_by_the_simulator(stack: Stack) -> None:
    talk = stack.organization(engine="v1")

    first = talk.ended(talk.say("coucou, tu fais quoi ?")["job"])
    second = talk.ended(talk.say("et demain, tu fais quoi ?")["job"])

    assert ([job["engine"] for job in (first, second)], len(set(talk.texts()))) == (["v1", "v1"], 2)


async def test_a_silence_in_draft_waits_for_a_person(stack: Stack, model: SimulatorControl) -> None:
    talk = stack.organization(autonomy="draft", **OPEN)
    await model.script(LEFT, match=talk.marker, task="reply")
    held = talk.reaches(talk.say("je dors")["job"], "held")
    why = talk.call("GET", f"/v1/explain/{held['id']}", status=200)
    read = stack.receiver.of(talk.name, "message.read")

    talk.call("POST", f"/v1/jobs/{held['id']}/approve", status=200)

    wait_until(lambda: stack.receiver.of(talk.name, "message.read"), 10, "message.read")
    assert (held["reason"], held["note"], held["candidates"], held["due_at"], read) == (
        "left_on_read",
        "il dort",
        [],
        None,
        [],
    )
    assert (why["cause"], why["sentence"], why["next"]) == (
        "awaiting_approval",
        "no reply is wanted, and that awaits approval: the agent left the contact on seen",
        f"`replique jobs approve {held['id']}` agrees; cancel drops it, regenerate thinks again",
    )
    assert talk.job(held["id"])["state"] == "silent"
    assert shown(talk)["follow_up_at"] is not None


async def test_a_pause_ends_by_itself_and_what_came_meanwhile_is_answered_then(
    stack: Stack, model: SimulatorControl
) -> None:
    talk = stack.organization(**OPEN)
    until = datetime.now(UTC).replace(microsecond=0) + timedelta(seconds=8)
    pause = {"calls": [call("conversation_pause", until=until.isoformat(), reason="il dîne")]}
    await model.script(pause, bubbles("Alors, ce dîner ?"), done(), match=talk.marker, task="reply")
    silent = talk.ended(talk.say("je dîne")["job"], "silent")

    waiting = talk.job(talk.say("fini !")["job"])
    answered = talk.ended(waiting["id"], seconds=30)

    assert (silent["reason"], shown(talk)["follow_up_at"], waiting["state"]) == ("paused", None, "queued")
    assert datetime.fromisoformat(waiting["due_at"]) == until
    assert datetime.fromisoformat(answered["ended_at"]) > until
    assert talk.texts() == ["Alors, ce dîner ?"]
