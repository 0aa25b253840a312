"""What a search for media answers: exact order, on the real database with the real vectors."""

from dataclasses import replace
from decimal import Decimal
from typing import Any

from schemas.catalogue import Media, MediaSearch, PriceRange, Shelf, Viewer
from schemas.ids import ContactId, ConversationId, OrgId, PersonaId
from tests.builders_media import EMBEDDER, a_document, an_album, applied, happened, names
from tests.builders_storage import Storage, a_storage
from workers.adapters.postgres.catalogue import StoredCatalogue

FREE = MediaSearch(Shelf.FREE, 8)
PAID = MediaSearch(Shelf.PAID, 8)

BEACH = {"description": "Maya sur la plage au coucher du soleil", "tags": ["mer", "été"]}
CAT = {"description": "mon chat qui dort sur le canapé", "tags": ["chat"]}
GYM = {"description": "séance de sport à la salle de musculation", "tags": ["fitness"]}


async def look(storage: Storage, search: MediaSearch) -> list[Media]:
    row = await storage.row(
        "SELECT id, org_id, persona_id, contact_id FROM conversations ORDER BY id DESC LIMIT 1",
    )
    viewer = Viewer(
        OrgId(row["org_id"]), PersonaId(row["persona_id"]), ContactId(row["contact_id"]), ConversationId(row["id"])
    )
    return await StoredCatalogue(storage.database, EMBEDDER).look(search, viewer)


async def a_shelf(storage: Storage, *documents: dict[str, Any]) -> None:
    await storage.say()
    await applied(storage, *documents)


async def test_a_query_finds_by_meaning_across_languages(database_url: str) -> None:
    async with a_storage(database_url) as storage:
        await a_shelf(
            storage, a_document("plage", **BEACH), a_document("chat", **CAT), a_document("sport", **GYM, type="video")
        )

        found = [
            names(await look(storage, replace(FREE, query=query)))[0]
            for query in ("a sunset at the seaside", "un animal mignon", "workout")
        ]

        assert found == ["plage", "chat", "sport"]


async def test_without_a_query_the_tastes_decide(database_url: str) -> None:
    async with a_storage(database_url) as storage:
        await a_shelf(storage, a_document("plage", **BEACH), a_document("chat", **CAT), a_document("sport", **GYM))

        by_profile = await look(storage, replace(FREE, tastes="adore les chats et les animaux"))
        await applied(storage, a_document("plage-2", **BEACH | {"description": "Maya dans les vagues de l'océan"}))
        await happened(storage, "received", "plage")
        by_history = await look(storage, FREE)

        assert (names(by_profile)[0], names(by_history)[0], names(by_history)[-1]) == ("chat", "plage-2", "plage")


async def test_what_was_bought_or_lacks_consent_or_is_another_personas_is_not_found(database_url: str) -> None:
    async with a_storage(database_url) as storage:
        await a_shelf(
            storage,
            {"kind": "Persona", "name": "zoe", "control_window_seconds": 0},
            a_document("hers", persona="zoe"),
            a_document("ours"),
            a_document("nobody-agreed", consent_record=None),
            a_document("bought", "10"),
            a_document("for-sale", "12"),
        )
        await happened(storage, "offered", "for-sale", amount="12")
        await happened(storage, "bought", "bought", amount="10")
        free, paid = await look(storage, FREE), await look(storage, PAID)
        await storage.rows("UPDATE media_items SET deleted_at = clock_timestamp() WHERE name = 'ours'")

        assert (names(free), names(paid), names(await look(storage, FREE))) == (["ours"], ["for-sale"], [])


async def test_free_media_of_the_last_album_come_first_and_what_was_received_last(database_url: str) -> None:
    async with a_storage(database_url) as storage:
        await a_shelf(
            storage,
            an_album("a"),
            an_album("b"),
            a_document("a-1", album="a"),
            a_document("a-2", album="a"),
            a_document("b-1", album="b"),
            a_document("b-2", album="b"),
        )
        await happened(storage, "received", "a-1")

        preferred = await look(storage, replace(FREE, album="a", queued=("b-2",)))

        assert names(preferred) == ["a-2", "b-1", "a-1", "b-2"]
        assert [media.received for media in preferred] == [False, False, True, False]


async def test_without_a_purchase_the_cheapest_third_comes_first_ordered_by_the_query(database_url: str) -> None:
    async with a_storage(database_url) as storage:
        await a_shelf(
            storage,
            a_document("dear", "90", **CAT),
            a_document("cheap-gym", "5", **GYM),
            a_document("cheap-cat", "6", **CAT),
            a_document("middle", "30", **CAT),
            a_document("top", "200", **CAT),
            a_document("fair", "20", **CAT),
        )

        found = await look(storage, replace(PAID, query="un chat"))

        assert names(found) == ["cheap-cat", "cheap-gym", "fair", "middle", "dear", "top"]


async def test_after_a_purchase_what_costs_as_much_or_half_as_much_again_comes_first(database_url: str) -> None:
    async with a_storage(database_url) as storage:
        await a_shelf(
            storage,
            *(a_document(f"at-{price}", price) for price in ("5", "19", "20", "30", "31", "80")),
            a_document("dollars", "25") | {"price": {"amount": "25", "currency": "USD"}},
        )
        fitting = PriceRange(Decimal(20), Decimal(30), "EUR")

        found = await look(storage, replace(PAID, prices=fitting))

        assert names(found) == ["at-20", "at-30", "at-19", "at-31", "at-5", "at-80", "dollars"]


async def test_the_first_paid_album_is_one_of_which_least_was_seen_and_is_gone_on_with(database_url: str) -> None:
    async with a_storage(database_url) as storage:
        await a_shelf(
            storage,
            *(an_album(name) for name in "abc"),
            a_document("a-free", album="a"),
            a_document("b-free-1", album="b"),
            a_document("b-free-2", album="b"),
            a_document("a-5", "5", album="a"),
            a_document("b-5", "5", album="b"),
            a_document("c-50", "50", album="c"),
        )
        await happened(storage, "received", "a-free", "b-free-1", "b-free-2")
        opened = await look(storage, replace(PAID, opens=True))
        gone_on = await look(storage, replace(PAID, opens=True, album="b"))
        neither = await look(storage, PAID)

        assert [names(found) for found in (opened, gone_on, neither)] == [
            ["c-50", "a-5", "b-5"],
            ["b-5", "c-50", "a-5"],
            ["a-5", "b-5", "c-50"],
        ]


async def test_what_was_shown_may_be_sent_from_then_on_also_by_the_next_run(database_url: str) -> None:
    async with a_storage(database_url) as storage:
        await a_shelf(storage, a_document("ph-1", **CAT), a_document("ph-2", "12.50"))
        await look(storage, FREE)
        await look(storage, FREE)
        await look(storage, PAID)

        claim = await storage.claim()

        shown = {media.id: media.price and media.price.text for media in claim.case.media.shown}
        assert shown == {"ph-1": None, "ph-2": "12.50"}


async def test_a_limit_is_kept(database_url: str) -> None:
    async with a_storage(database_url) as storage:
        await a_shelf(storage, *(a_document(f"ph-{n}") for n in range(5)))

        assert len(await look(storage, replace(FREE, limit=2))) == 2
