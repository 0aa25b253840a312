"""`/v1/messages`: what upstream apps post, from the outside."""

import asyncio
from typing import Any

import pytest

from tests.builders_face import Gateway, a_gateway

MESSAGE = {
    "id": "m-981",
    "conversation": "c-12",
    "persona": "maya",
    "author": "contact",
    "contact": {
        "id": "fan-7",
        "name": "Léo",
        "locale": "fr",
        "timezone": "Europe/Paris",
        "profile": {"spent": "35.00"},
    },
    "text": "coucou",
    "attachments": [{"type": "image", "url": "https://x.test/1.jpg"}],
    "sent_at": "2026-11-30T10:00:00+01:00",
}


async def post(gateway: Gateway, **changes: Any) -> Any:
    body = {key: value for key, value in {**MESSAGE, **changes}.items() if value is not None}
    return await gateway.call("POST", "/v1/messages", body, key=await gateway.key("app", "acme"))


async def test_a_message_is_taken_once_whoever_gets_it(database_url: str) -> None:
    async with a_gateway(database_url) as gateway, a_gateway(database_url) as another:
        await gateway.organization("acme")
        key = await gateway.key("app", "acme")
        answers = await asyncio.gather(
            *(one.call("POST", "/v1/messages", MESSAGE, key=key) for one in (gateway, another) * 5)
        )
        other_body = (await post(gateway, text="salut")).json()
        stored = await gateway.run(
            "SELECT json_build_array((SELECT count(*) FROM messages), (SELECT count(*) FROM jobs))"
        )

    bodies = sorted((answer.json() for answer in answers), key=lambda body: body["duplicate"])
    first = {"message": "m-981", "conversation": "c-12", "job": "job_1", "duplicate": False, "reason": None}
    assert {answer.status_code for answer in answers} == {202}
    assert bodies == [first] + [{**first, "duplicate": True}] * 9
    assert other_body == {**first, "duplicate": True, "reason": "id seen with another body"}
    assert stored == [1, 1]


async def test_the_conversation_shows_what_was_posted(database_url: str) -> None:
    async with a_gateway(database_url) as gateway:
        await gateway.organization("acme")
        await post(gateway)
        shown = (await gateway.call("GET", "/v1/conversations/c-12", org="acme")).json()

    (message,) = shown["messages"]
    assert (message["id"], message["text"], message["sent_at"]) == ("m-981", "coucou", "2026-11-30T09:00:00Z")
    assert message["attachments"] == MESSAGE["attachments"]
    assert shown["contact"]["id"] == "fan-7"
    assert shown["contact"]["profile"] == {"spent": "35.00"}
    assert (shown["job"]["state"], shown["job"]["trigger"]) == ("queued", "message")


@pytest.mark.parametrize(
    ("changes", "status", "field"),
    [
        ({"text": None, "attachments": None}, 422, "text"),
        ({"text": "", "attachments": []}, 422, "text"),
        ({"text": "\x00", "attachments": []}, 422, "text"),
        ({"text": "  "}, 202, None),
        ({"text": "é" * 32_768}, 202, None),
        ({"text": "é" * 32_768 + "x"}, 413, None),
        ({"attachments": [{"type": "image", "url": "u"}] * 21}, 413, None),
        ({"persona": "nobody"}, 422, "persona"),
        ({"contact": None}, 422, "contact"),
        ({"contact": {"name": "Léo"}}, 422, "contact.id"),
        ({"contact": {"id": "fan 7"}}, 422, "contact.id"),
        ({"contact": {"id": "fan-7", "timezone": "Mars"}}, 422, "contact.timezone"),
        ({"author": "ai"}, 422, "author"),
        ({"sent_at": "2026-11-30T10:00:00"}, 422, "sent_at"),
        ({"sent_at": 1764496800}, 422, "sent_at"),
        ({"sent_at": "1764496800"}, 422, "sent_at"),
        ({"text": 5}, 422, "text"),
        ({"sent_at": "0001-01-01T00:00:00+14:00"}, 422, "sent_at"),
        ({"sent_at": "9999-12-31T23:00:00-14:00"}, 422, "sent_at"),
        ({"id": "a/b"}, 422, "id"),
        ({"colour": "red"}, 422, "colour"),
        ({"attachments": [{"type": "image", "url": "u", "size": 1}]}, 422, "attachments.0.size"),
    ],
)
async def test_what_a_message_must_be(
    database_url: str, changes: dict[str, Any], status: int, field: str | None
) -> None:
    async with a_gateway(database_url) as gateway:
        await gateway.organization("acme")
        answer = await post(gateway, **changes)

    assert answer.status_code == status, answer.text
    assert [error["field"] for error in answer.json().get("errors", [])] == ([field] if field else [])


async def test_odd_text_comes_back_clean_and_an_echo_is_ignored(database_url: str) -> None:
    async with a_gateway(database_url) as gateway:
        await gateway.organization("acme")
        await post(gateway, text="a\x00b\ud83d 👩‍👩‍👧", contact={"id": "fan-7", "profile": {"k\x00": "\ude00"}})
        echo = (await post(gateway, id="m-2", author="self")).json()
        shown = (await gateway.call("GET", "/v1/conversations/c-12", org="acme")).json()

    assert [message["text"] for message in shown["messages"]] == ["ab\ufffd 👩‍👩‍👧"]
    assert shown["contact"]["profile"] == {"k": "\ufffd"}
    assert (echo["job"], echo["reason"]) == (None, "echo")


async def test_edits_and_deletions_answer_like_messages(database_url: str) -> None:
    async with a_gateway(database_url) as gateway:
        await gateway.organization("acme")
        await post(gateway)
        key = await gateway.key("app", "acme")
        edited = await gateway.call("PATCH", "/v1/messages/m-981", {"text": "salut"}, key=key)
        empty = await gateway.call("PATCH", "/v1/messages/m-981", {}, key=key)
        nothing_left = await gateway.call("PATCH", "/v1/messages/m-981", {"text": "", "attachments": []}, key=key)
        shown = (await gateway.call("GET", "/v1/conversations/c-12", org="acme")).json()
        deleted = await gateway.call("DELETE", "/v1/messages/m-981", key=key)
        after = (await gateway.call("GET", "/v1/conversations/c-12", org="acme")).json()
        job = (await gateway.call("GET", "/v1/jobs/job_1")).json()
        missing = [
            (await gateway.call("PATCH", "/v1/messages/m-1", {"text": "x"}, key=key)).status_code,
            (await gateway.call("DELETE", "/v1/messages/m%201", key=key)).status_code,
        ]

    assert (edited.status_code, edited.json()["job"]) == (202, "job_1")
    assert (empty.status_code, nothing_left.status_code, missing) == (422, 422, [404, 404])
    assert (shown["messages"][0]["text"], shown["messages"][0]["edited_at"] is not None) == ("salut", True)
    assert (deleted.status_code, after["job"]) == (202, None)
    assert [(line["author"], line["text"]) for line in after["messages"]] == [("system", "nothing to answer")]
    assert (job["state"], job["outcome"], job["code"], job["attention"]) == ("silent", "silent", "AR-510", False)


async def test_a_conversation_stays_with_its_persona_and_contact(database_url: str) -> None:
    async with a_gateway(database_url) as gateway:
        await gateway.organization("acme", {"name": "maya"}, {"name": "lea"})
        await post(gateway)
        persona = await post(gateway, id="m-2", persona="lea")
        contact = await post(gateway, id="m-3", contact={"id": "fan-8"})

    assert (persona.status_code, contact.status_code) == (409, 409)


async def test_organisations_do_not_share_names(database_url: str) -> None:
    async with a_gateway(database_url) as gateway:
        for org in ("acme", "other"):
            await gateway.organization(org)
            await gateway.call("POST", "/v1/messages", MESSAGE, org=org)
        mine = await gateway.key("app", "other")
        edited = await gateway.call("PATCH", "/v1/messages/m-981", {"text": "mine"}, key=mine)
        texts = await gateway.run("SELECT array_agg(text ORDER BY id) FROM messages")
        foreign = await gateway.call("GET", "/v1/jobs/job_1", key=mine)

    assert edited.status_code == 202
    assert texts == ["coucou", "mine"]
    assert foreign.status_code == 404
