"""The memory in the whole product: a document that a reply looks up, and a fact that a conversation leaves behind."""

import psycopg

from tests.scripts import bubbles, call, done, heard, refused
from tests.stack import Stack, Talk, wait_until
from workers.simulator.control import SimulatorControl

SECRET = "Le code promo des amis de {} est {}."


def six_hours_go_by(stack: Stack, talk: Talk) -> None:
    with psycopg.connect(stack.environment["DATABASE_URL"]) as connection:
        for table, column, which in (
            ("conversations", "last_inbound_at", "name = %s"),
            ("chores", "due_at", "conversation_id = (SELECT id FROM conversations WHERE name = %s)"),
        ):
            connection.execute(
                f"UPDATE {table} SET {column} = {column} - interval '6 hours' WHERE {which}",  # type: ignore[arg-type]
                [talk.name],
            )


async def test_a_reply_looks_up_its_own_contacts_document_and_not_the_others(
    stack: Stack, model: SimulatorControl
) -> None:
    talk = stack.organization()
    contact = f"fan-{talk.name}"
    documents = [
        {"kind": "Document", "name": f"d{n}", "scope": "contact", "contact": whose, "text": SECRET.format("Léo", code)}
        for n, (whose, code) in enumerate(((contact, "AMI-1"), ("somebody-else", "AMI-2")))
    ]
    talk.call("POST", "/v1/apply", json={"resources": documents}, status=200)
    await model.script(
        {"calls": [call("search_rag", query="quel est le code promo ?")]},
        bubbles("Regarde tes mails !"),
        done(),
        match=talk.marker,
        task="reply",
    )
    job = talk.ended(talk.say("c'est quoi le code ?")["job"])
    told = (await heard(model, talk.marker))[-1].body
    assert job["state"] == "sent"
    assert ("AMI-1" in told, "AMI-2" in told) == (True, False)
    assert 'external_content type=\\"memory\\"' in told


async def test_a_conversation_at_rest_leaves_a_fact_behind(stack: Stack, model: SimulatorControl) -> None:
    talk = stack.organization()
    fact = {"message": 1, "fact": "Son chien s'appelle Rex."}
    await model.script(bubbles("Trop mignon !"), done(), match=talk.marker, task="reply")
    talk.ended(talk.say("mon chien s'appelle Rex")["job"])
    await model.script({"json": {"facts": [fact]}}, match=talk.marker, task="auxiliary")
    six_hours_go_by(stack, talk)

    def remembered() -> list[tuple[str]]:
        with psycopg.connect(stack.environment["DATABASE_URL"]) as connection:
            return connection.execute("SELECT text FROM chunks WHERE message_id IS NOT NULL").fetchall()

    assert wait_until(remembered, 20, "a fact") == [("Son chien s'appelle Rex.",)]
    assert await refused(model) == []
