"""Albums and media for tests: applied like an organisation would, on the database of a `Storage`."""

from collections.abc import Sequence
from decimal import Decimal
from typing import Any

from schemas.answers import Change
from schemas.catalogue import Media, MediaFact, MediaType
from schemas.manifest import Manifest
from schemas.money import Price
from tests.builders_storage import Storage
from workers.adapters.embeddings import BuiltInEmbedder
from workers.adapters.postgres.provision import Provision

EMBEDDER = BuiltInEmbedder()


def an_album(name: str, **fields: Any) -> dict[str, Any]:
    return {"kind": "Album", "name": name, "persona": "maya"} | fields


def a_document(name: str, price: str | None = None, **fields: Any) -> dict[str, Any]:
    """A photo that everybody in it agreed to; `price` in euros."""
    document: dict[str, Any] = {
        "kind": "MediaItem",
        "name": name,
        "persona": "maya",
        "type": "photo",
        "url": f"https://cdn.example/{name}.jpg",
        "consent_record": "signed by Maya on 2026-01-05",
    }
    if price is not None:
        document["price"] = {"amount": price, "currency": "EUR"}
    return document | fields


async def applied(storage: Storage, *documents: dict[str, Any]) -> dict[str, Change]:
    """By name."""
    manifest = Manifest.model_validate({"resources": list(documents)})
    answer = await Provision(storage.database, EMBEDDER).apply("acme", manifest, "tests")
    return {item.name: item.result for item in answer.resources}


async def happened(storage: Storage, what: str, *media: str, hours_ago: float = 0, amount: str | None = None) -> None:
    """The contact of the newest conversation received, was offered or bought these."""
    for name in media:
        await storage.rows(
            "INSERT INTO media_facts (org_id, contact_id, persona_id, media_id, what, amount, currency, at) "
            "SELECT c.org_id, c.contact_id, c.persona_id, m.id, :what, CAST(:amount AS numeric), "
            "CASE WHEN CAST(:amount AS numeric) IS NOT NULL THEN 'EUR' END, "
            "clock_timestamp() - make_interval(secs => :seconds) FROM conversations c, media_items m "
            "WHERE c.id = (SELECT max(id) FROM conversations) AND m.name = :name",
            what=what,
            name=name,
            amount=amount,
            seconds=hours_ago * 3600,
        )


def a_media(name: str = "ph-1", price: str | None = None, **fields: Any) -> Media:
    """As a search answers it."""
    known: dict[str, Any] = {"type": MediaType.PHOTO, "url": f"https://cdn.example/{name}.jpg"}
    cost = None if price is None else Price(Decimal(price), "EUR")
    return Media(**({"id": name, "price": cost} | known | fields))


def names(found: Sequence[Media | MediaFact]) -> list[str]:
    return [item.id if isinstance(item, Media) else item.media for item in found]
