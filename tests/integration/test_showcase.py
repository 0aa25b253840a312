"""Albums and media are provisioned like everything else: all or nothing, and only what changed is written."""

from collections.abc import Awaitable, Sequence
from typing import Any

import pytest

from schemas.answers import Change
from schemas.errors import Invalid
from schemas.manifest import Manifest
from tests.builders_face import a_gateway
from tests.builders_media import EMBEDDER, a_document, an_album, applied
from tests.builders_storage import a_storage
from workers.adapters.postgres.provision import Provision

CREATED, UPDATED, UNCHANGED = Change.CREATED, Change.UPDATED, Change.UNCHANGED


async def test_a_batch_may_come_in_any_order_and_again_without_a_change(database_url: str) -> None:
    async with a_storage(database_url) as storage:
        batch = [a_document("ph-1", "12.50", album="beach", description="la mer", tags=["été"]), an_album("beach")]
        first, again = await applied(storage, *batch), await applied(storage, *batch)

        assert first == {"ph-1": CREATED, "beach": CREATED}
        assert again == {"ph-1": UNCHANGED, "beach": UNCHANGED}


@pytest.mark.parametrize(
    "change",
    [
        {"price": None},
        {"price": {"amount": "13", "currency": "EUR"}},
        {"description": "le chat"},
        {"tags": ["b", "a"]},
        {"type": "video"},
        {"url": "https://cdn.example/other.jpg"},
        {"album": None},
        {"consent_record": None},
        {"consent_record": {"owner": "Maya", "given_at": "2026-01-05T10:00:00+01:00"}},
    ],
)
async def test_each_field_is_a_change(database_url: str, change: dict[str, Any]) -> None:
    async with a_storage(database_url) as storage:
        document = a_document("ph-1", "12.50", album="beach", description="la mer", tags=["a", "b"])
        await applied(storage, an_album("beach"), document)

        assert [await applied(storage, document | change) for _ in "ab"] == [{"ph-1": UPDATED}, {"ph-1": UNCHANGED}]


async def test_only_other_words_change_what_a_media_means(database_url: str) -> None:
    async with a_storage(database_url) as storage:
        seen = []
        for change in ({"description": "la mer"}, {"description": "la mer", "url": "http://x.example/"}, {}):
            await applied(storage, a_document("ph-1") | change)
            row = await storage.row("SELECT md5(CAST(embedding AS text)) AS meant FROM media_items")
            seen.append(row["meant"])

        assert [seen[0] == seen[1], seen[1] == seen[2]] == [True, False]


async def test_what_was_deleted_comes_back_when_it_is_applied(database_url: str) -> None:
    async with a_storage(database_url) as storage:
        await applied(storage, a_document("ph-1"))
        await storage.rows("UPDATE media_items SET deleted_at = clock_timestamp()")

        assert await applied(storage, a_document("ph-1")) == {"ph-1": UPDATED}


@pytest.mark.parametrize(
    ("documents", "field", "message"),
    [
        ([a_document("ph-1", persona="zoe")], "resources.1.persona", "there is no persona 'zoe'"),
        ([an_album("beach", persona="zoe")], "resources.1.persona", "there is no persona 'zoe'"),
        ([a_document("ph-1", album="beach")], "resources.1.album", "there is no album 'beach'"),
        (
            [{"kind": "Persona", "name": "zoe"}, an_album("hers", persona="zoe"), a_document("ph-1", album="hers")],
            "resources.3.album",
            "the album 'hers' is another persona's",
        ),
    ],
)
async def test_what_belongs_to_nobody_is_refused_and_nothing_is_kept(
    database_url: str, documents: list[dict[str, Any]], field: str, message: str
) -> None:
    async with a_storage(database_url) as storage:
        with pytest.raises(Invalid) as refused:
            await applied(storage, a_document("fine"), *documents)

        kept = await storage.rows("SELECT name FROM media_items UNION ALL SELECT name FROM albums")
        assert (refused.value.facts["errors"], kept) == ([{"field": field, "message": message}], [])


async def test_an_album_does_not_leave_its_media_behind(database_url: str) -> None:
    async with a_storage(database_url) as storage:
        await applied(storage, an_album("beach"), a_document("ph-1", album="beach"))
        moved = [{"kind": "Persona", "name": "zoe"}, an_album("beach", persona="zoe")]
        with pytest.raises(Invalid) as refused:
            await applied(storage, *moved)
        together = await applied(storage, *moved, a_document("ph-1", album="beach", persona="zoe"))

        message = "the media 'ph-1' of this album is another persona's"
        assert refused.value.facts["errors"] == [{"field": "resources.1.persona", "message": message}]
        assert together == {"zoe": CREATED, "beach": UPDATED, "ph-1": UPDATED}


@pytest.mark.parametrize(
    "change",
    [
        {"url": "ftp://cdn.example/x"},
        {"url": "https://user:secret@cdn.example/x"},
        {"url": "https:///x"},
        {"url": "javascript:alert(1)"},
        {"url": "https://cdn.example/a b"},
        {"price": {"amount": "0", "currency": "EUR"}},
        {"price": {"amount": 5, "currency": "EUR"}},
        {"type": "gif"},
        {"tags": [""]},
        {"consent": "yes"},
    ],
)
async def test_a_document_that_makes_no_sense_names_the_field(database_url: str, change: dict[str, Any]) -> None:
    async with a_gateway(database_url) as gateway:
        await gateway.organization("acme", {"name": "maya"})
        body = {"resources": [a_document("ph-1") | change]}

        answer = await gateway.call("POST", "/v1/apply", body, org="acme")

        fields = [error["field"] for error in answer.json()["errors"]]
        assert answer.status_code == 422
        assert all(next(iter(change)) in field for field in fields), fields


async def test_over_http_each_resource_has_its_answer(database_url: str) -> None:
    async with a_gateway(database_url) as gateway:
        await gateway.organization("acme", {"name": "maya"})
        body = {"resources": [a_document("ph-1", album="beach"), an_album("beach", title="La plage")]}

        answer = await gateway.call("POST", "/v1/apply", body, org="acme")

        assert answer.json()["resources"] == [
            {"kind": "MediaItem", "name": "ph-1", "result": "created"},
            {"kind": "Album", "name": "beach", "result": "created"},
        ]


class Interrupted:
    """Embeds as usual; while it does for the first time, somebody else applies something."""

    name = EMBEDDER.name
    dims = EMBEDDER.dims

    def __init__(self, meanwhile: Awaitable[object]) -> None:
        self._meanwhile: Awaitable[object] | None = meanwhile

    async def embed(self, texts: Sequence[str], org: int | None = None) -> list[tuple[float, ...]]:
        if (meanwhile := self._meanwhile) is not None:
            self._meanwhile = None
            await meanwhile
        return await EMBEDDER.embed(texts)


async def test_words_that_changed_meanwhile_are_embedded_after_all(database_url: str) -> None:
    async with a_storage(database_url) as storage:
        sea, cat = a_document("ph-1", description="la mer"), a_document("ph-1", description="le chat")
        await applied(storage, sea)
        meant = await storage.row("SELECT CAST(embedding AS text) AS vector FROM media_items")
        interrupted = Interrupted(applied(storage, cat))
        manifest = Manifest.model_validate({"resources": [sea]})

        answer = await Provision(storage.database, interrupted).apply("acme", manifest, "tests")

        row = await storage.row("SELECT description, CAST(embedding AS text) AS vector FROM media_items")
        assert (answer.resources[0].result, row) == (UPDATED, {"description": "la mer"} | meant)
