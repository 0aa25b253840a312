"""A photo or video among the bubbles: recorded, looked at again when its turn has come, counted when it leaves."""

import json
from typing import Any

import pytest

from schemas.catalogue import Had, MediaType
from schemas.claims import Accepted, Posting, Refused, Unknown
from schemas.conversation import BubbleKind
from schemas.decisions import Bubble, Reply
from schemas.jobs import DelayedSend
from tests.builders_media import a_document, a_media, an_album, applied, happened, names
from tests.builders_storage import Storage, a_storage
from tests.overheard import overheard

TEXT, IMAGE, VIDEO = BubbleKind.TEXT, BubbleKind.IMAGE, BubbleKind.VIDEO
URL = "https://cdn.example/ph-1.jpg"


async def hold(storage: Storage, *bubbles: Bubble) -> None:
    """A reply with a photo, then words, waits in its window."""
    await storage.say()
    await applied(storage, an_album("beach"), a_document("ph-1", album="beach", description="la mer"))
    given = bubbles or (Bubble(IMAGE, "pour toi", (a_media("ph-1").ref,)), Bubble(TEXT, "voilà"))
    await storage.transitions.record(await storage.claim(), Reply(given))


async def change(storage: Storage, to: str) -> None:
    await storage.rows(f"UPDATE media_items SET {to}")


async def facts(storage: Storage) -> list[tuple[str, str]]:
    rows = await storage.rows(
        "SELECT f.what, m.name FROM media_facts f JOIN media_items m ON m.id = f.media_id ORDER BY f.id"
    )
    return [(row["what"], row["name"]) for row in rows]


async def test_a_photo_leaves_as_an_image_and_counts_as_received(database_url: str) -> None:
    async with a_storage(database_url) as storage:
        await hold(storage)
        posting = await storage.send()
        data = json.loads(posting.body)["data"]

        assert {key: data[key] for key in ("kind", "text", "media", "audio", "payment", "ai_generated")} == {
            "kind": "image",
            "text": "pour toi",
            "media": [{"id": "ph-1", "url": URL, "type": "photo"}],
            "audio": None,
            "payment": None,
            "ai_generated": True,
        }
        line = await storage.row("SELECT kind, text, attachments FROM messages WHERE author = 'ai'")
        assert line == {"kind": "image", "text": "pour toi", "attachments": data["media"]}
        assert await facts(storage) == [("received", "ph-1")]


async def test_a_video_leaves_under_the_address_it_has_now(database_url: str) -> None:
    async with a_storage(database_url) as storage:
        await hold(storage, Bubble(VIDEO, "", (a_media("ph-1", type=MediaType.VIDEO).ref,)))
        await change(storage, "url = 'https://cdn.example/moved.mp4', type = 'video'")
        posting = await storage.send()

        data = json.loads(posting.body)["data"]
        assert (data["kind"], data["media"]) == (
            "video",
            [{"id": "ph-1", "url": "https://cdn.example/moved.mp4", "type": "video"}],
        )
        kept = await storage.row("SELECT media FROM candidates")
        assert kept["media"] == data["media"]


FAULTS = [
    ("deleted_at = clock_timestamp()", "the media 'ph-1' is gone"),
    ("name = 'renamed'", "the media 'ph-1' is gone"),
    ("consent = NULL", "the media 'ph-1' has no consent record"),
    ("price = 5, currency = 'EUR'", "the media 'ph-1' is for sale now"),
]


@pytest.mark.parametrize(("to", "sentence"), FAULTS)
async def test_what_may_no_longer_be_sent_holds_the_whole_tail_for_a_person(
    database_url: str, to: str, sentence: str
) -> None:
    async with a_storage(database_url) as storage:
        await hold(storage)
        await change(storage, to)

        assert await storage.try_send() is None
        await stopped(storage, sentence)


async def stopped(storage: Storage, sentence: str) -> None:
    job = await storage.job()
    shown = {key: job[key] for key in ("state", "on_hold", "due_at", "code", "reason", "attention")}
    assert shown == {
        "state": "held",
        "on_hold": True,
        "due_at": None,
        "code": "AR-563",
        "reason": "media_not_sendable",
        "attention": "open",
    }
    event = await storage.row("SELECT facts FROM job_events ORDER BY id DESC LIMIT 1")
    assert event["facts"]["detail"] == sentence
    assert [bubble[2] for bubble in await storage.candidates()] == ["held", "held"]
    raised = await storage.row("SELECT type, body FROM deliveries")
    assert raised["type"] == "attention.raised"
    assert {"code": "AR-563", "reason": "media_not_sendable"}.items() <= json.loads(raised["body"])["data"].items()
    assert await storage.rows("SELECT 1 FROM messages WHERE author = 'ai'") == []


async def test_what_was_bought_meanwhile_is_not_sent(database_url: str) -> None:
    async with a_storage(database_url) as storage:
        await hold(storage)
        await happened(storage, "bought", "ph-1", amount="5")

        assert await storage.try_send() is None
        await stopped(storage, "the media 'ph-1' was bought by this contact meanwhile")


async def test_another_personas_media_is_not_sent(database_url: str) -> None:
    async with a_storage(database_url) as storage:
        await hold(storage)
        await applied(
            storage,
            {"kind": "Persona", "name": "zoe"},
            an_album("beach", persona="zoe"),
            a_document("ph-1", album="beach", persona="zoe"),
        )

        assert await storage.try_send() is None
        await stopped(storage, "the media 'ph-1' is gone")


async def test_a_photo_further_back_stops_only_the_rest(database_url: str) -> None:
    async with a_storage(database_url) as storage:
        await hold(storage, Bubble(TEXT, "regarde"), Bubble(IMAGE, "", (a_media("ph-1").ref,)), Bubble(TEXT, "alors ?"))
        await storage.transitions.settle(await storage.send(), Accepted())
        await change(storage, "consent = NULL")
        await storage.make_due()

        assert await storage.try_send() is None
        job = await storage.job()
        assert (job["state"], job["code"]) == ("held", "AR-563")
        assert [bubble[2] for bubble in await storage.candidates()] == ["sent", "held", "held"]


async def test_put_right_and_released_it_leaves(database_url: str) -> None:
    async with a_storage(database_url) as storage:
        await hold(storage)
        await change(storage, "consent = NULL")
        await storage.try_send()
        await applied(storage, a_document("ph-1", album="beach", description="la mer"))
        await storage.transitions.approve(storage.org, (await storage.job())["id"], "zoe")

        assert isinstance(await storage.try_send(), Posting)
        job = await storage.job()
        assert (job["state"], job["code"], job["attention"]) == ("sending", None, None)


@pytest.mark.parametrize(
    ("answers", "left"),
    [
        ([Accepted()], [("received", "ph-1")]),
        ([Refused("no", final=True)], []),
        ([Unknown("hangs")], [("received", "ph-1")]),
    ],
)
async def test_a_photo_that_was_clearly_refused_was_not_received(
    database_url: str, answers: list[Any], left: list[tuple[str, str]]
) -> None:
    async with a_storage(database_url) as storage:
        await hold(storage)
        for answer in answers:
            await storage.transitions.settle(await storage.send(), answer)

        assert await facts(storage) == left


async def test_a_delivery_tried_again_counts_once(database_url: str) -> None:
    async with a_storage(database_url) as storage:
        await hold(storage)
        await storage.transitions.settle(await storage.send(), Refused("no", final=True))
        await storage.transitions.retry(storage.org, (await storage.job())["id"], "zoe")
        await storage.transitions.settle(await storage.send(), Accepted())

        assert await facts(storage) == [("received", "ph-1")]


async def test_the_next_run_knows_what_was_sent_offered_and_bought(database_url: str) -> None:
    async with a_storage(database_url) as storage:
        await hold(storage, Bubble(IMAGE, "pour toi", (a_media("ph-1").ref,)))
        await storage.transitions.settle(await storage.send(), Accepted())
        await applied(storage, a_document("v-1", "20"), a_document("v-2", "30", album="beach"))
        await happened(storage, "offered", "v-1", amount="20")
        await happened(storage, "bought", "v-2", amount="25.50")
        await storage.say("m-2")

        case = (await storage.claim()).case

        history = case.media
        assert [(had.value, names(history.of(had))) for had in Had] == [
            ("received", ["ph-1"]),
            ("offered", ["v-1"]),
            ("bought", ["v-2"]),
        ]
        newest = history.of(Had.BOUGHT)[0]
        assert (newest.album, newest.price and newest.price.text) == ("beach", "25.50")
        assert [(turn.kind, turn.text, turn.media) for turn in case.turns if turn.candidate] == [
            (IMAGE, "pour toi", ("ph-1",))
        ]


async def test_media_cost_no_statement_more(database_url: str) -> None:
    async with a_storage(database_url) as storage:
        await hold(storage, *(Bubble(IMAGE, "", (a_media("ph-1").ref,)) for _ in "ab"))
        counts = []
        for _ in "ab":
            with overheard(storage) as heard:
                posting = await storage.transitions.claim_send(DelayedSend(conversation=1, job=1))
                assert isinstance(posting, Posting)
                await storage.transitions.settle(posting, Accepted())
            counts.append(len(heard))

        assert counts == [6, 6]
