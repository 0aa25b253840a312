"""Albums and media: written inside the transaction of a manifest, found again under the same name."""

import json
from collections.abc import Iterable, Mapping
from typing import Any

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

from pipelines.ports import Embedder
from schemas.answers import Change
from schemas.errors import Invalid
from schemas.ids import OrgId
from schemas.showcase import AlbumDocument, MediaDocument
from workers.adapters.postgres.audit import write_audit
from workers.adapters.postgres.database import Database
from workers.adapters.postgres.vectors import as_vector

_MEANT = text(
    "SELECT m.name, m.description, m.tags FROM media_items m JOIN organizations o ON o.id = m.org_id "
    "WHERE o.name = :organization AND m.name = ANY(:names) AND m.model = :model"
)

_PERSONAS = text("SELECT name, id FROM personas WHERE org_id = :org AND name = ANY(:names)")
_ALBUMS = text("SELECT name, id, persona_id, title FROM albums WHERE org_id = :org AND name = ANY(:names)")
_NEW_ALBUM = text(
    "INSERT INTO albums (org_id, name, persona_id, title) VALUES (:org, :name, :persona_id, :title) RETURNING id"
)
_CHANGE_ALBUM = text(
    "UPDATE albums SET persona_id = :persona_id, title = :title, updated_at = clock_timestamp() "
    "WHERE org_id = :org AND name = :name RETURNING id"
)
_STRANGE = text(
    "SELECT m.name, a.name AS album FROM media_items m JOIN albums a ON a.id = m.album_id "
    "WHERE a.org_id = :org AND a.name = ANY(:names) AND a.persona_id <> m.persona_id ORDER BY m.id LIMIT 1"
)

_FIELDS = ("persona_id", "album_id", "type", "url", "price", "currency", "description", "tags", "consent")
_MEDIA = text(
    f"SELECT name, {', '.join(_FIELDS)}, deleted_at, model FROM media_items WHERE org_id = :org AND name = ANY(:names)"
)
_NEW_MEDIA = text(
    f"INSERT INTO media_items (org_id, name, {', '.join(_FIELDS)}, model, embedding) VALUES (:org, :name, :persona_id, "
    ":album_id, :type, :url, :price, :currency, :description, CAST(:tags AS jsonb), CAST(:consent AS jsonb), :model, "
    "CAST(:vector AS vector))"
)
_CHANGE_MEDIA = text(
    "UPDATE media_items SET persona_id = :persona_id, album_id = :album_id, type = :type, url = :url, price = :price, "
    "currency = :currency, description = :description, tags = CAST(:tags AS jsonb), consent = CAST(:consent AS jsonb), "
    "model = :model, embedding = coalesce(CAST(:vector AS vector), embedding), updated_at = clock_timestamp(), "
    "deleted_at = NULL WHERE org_id = :org AND name = :name"
)

Vectors = Mapping[str, str]
"""What media mean, by name; without those whose words are stored like that already."""


class MeantOtherwise(Exception):
    """Somebody else changed the words of a media between the look at what is stored and the transaction."""


async def meanings(
    database: Database,
    embedder: Embedder,
    organization: str,
    media: Iterable[MediaDocument],
    payer: OrgId | None = None,
) -> Vectors:
    """Of the media whose words are new. No transaction is open while they are embedded."""
    documents = {document.name: document for document in media}
    if not documents:
        return {}
    values = {"organization": organization, "names": list(documents), "model": embedder.name}
    async with database.transaction() as connection:
        rows = (await connection.execute(_MEANT, values)).all()
    same = {row.name for row in rows if (row.description, row.tags) == _words(documents[row.name])}
    new = [document for name, document in documents.items() if name not in same]
    vectors = await embedder.embed([_told(document) for document in new], payer)
    return {document.name: as_vector(vector) for document, vector in zip(new, vectors, strict=True)}


class Showcase:
    """The albums and media of one organisation, inside a transaction that has locked it. `model` made the vectors."""

    def __init__(self, connection: AsyncConnection, org: int, who: str, model: str) -> None:
        self._connection = connection
        self._org = org
        self._who = who
        self._model = model

    async def put_albums(self, documents: Mapping[str, AlbumDocument]) -> dict[str, Change]:
        """By name; the keys of `documents` are their places in the request. Raises Invalid."""
        personas = await self._personas(documents)
        known = {row.name: row for row in await self._named(_ALBUMS, (item.name for item in documents.values()))}
        changes = {}
        for place, document in documents.items():
            values = {"persona_id": _found(personas, document.persona, place, "persona"), "title": document.title}
            before = known.get(document.name)
            if before is not None and (before.persona_id, before.title) == tuple(values.values()):
                changes[document.name] = Change.UNCHANGED
                continue
            statement = _NEW_ALBUM if before is None else _CHANGE_ALBUM
            await self._connection.execute(statement, values | {"org": self._org, "name": document.name})
            change = changes[document.name] = Change.CREATED if before is None else Change.UPDATED
            await write_audit(self._connection, self._org, self._who, f"album.{change}", document.name, {})
        return changes

    async def put_media(self, documents: Mapping[str, MediaDocument], vectors: Vectors) -> dict[str, Change]:
        """As `put_albums`. Raises Invalid, MeantOtherwise."""
        personas = await self._personas(documents)
        wanted = (item.album for item in documents.values() if item.album is not None)
        albums = {row.name: row for row in await self._named(_ALBUMS, wanted)}
        known = {row.name: row for row in await self._named(_MEDIA, (item.name for item in documents.values()))}
        changes = {}
        for place, document in documents.items():
            persona = _found(personas, document.persona, place, "persona")
            album = None if document.album is None else _found(albums, document.album, place, "album")
            if album is not None and album.persona_id != persona:
                raise _invalid(f"{place}album", f"the album {document.album!r} is another persona's")
            values = _values(document) | {"persona_id": persona, "album_id": None if album is None else album.id}
            changes[document.name] = await self._put(document, values, known.get(document.name), vectors)
        return changes

    async def albums_hold_together(self, documents: Mapping[str, AlbumDocument]) -> None:
        """An album that went to another persona may not have left its media behind. Raises Invalid."""
        for row in await self._named(_STRANGE, (item.name for item in documents.values())):
            place = next(place for place, document in documents.items() if document.name == row.album)
            raise _invalid(f"{place}persona", f"the media {row.name!r} of this album is another persona's")

    async def _put(self, document: MediaDocument, values: dict[str, Any], before: Any, vectors: Vectors) -> Change:
        vector = vectors.get(document.name)
        same_words = before is not None and (before.description, before.tags) == _words(document)
        if vector is None and not (same_words and before.model == self._model):
            raise MeantOtherwise
        if before is not None and vector is None and before.deleted_at is None and _same(before, values):
            return Change.UNCHANGED
        stored = values | {"tags": json.dumps(values["tags"]), "consent": _json(values["consent"])}
        bound = stored | {"org": self._org, "name": document.name, "model": self._model, "vector": vector}
        await self._connection.execute(_NEW_MEDIA if before is None else _CHANGE_MEDIA, bound)
        change = Change.CREATED if before is None else Change.UPDATED
        changed = [] if before is None else sorted(key for key in _FIELDS if getattr(before, key) != values[key])
        facts = {"changed": changed, "consent": values["consent"] is not None}
        await write_audit(self._connection, self._org, self._who, f"media.{change}", document.name, facts)
        return change

    async def _personas(self, documents: Mapping[str, AlbumDocument] | Mapping[str, MediaDocument]) -> dict[str, int]:
        rows = await self._named(_PERSONAS, (item.persona for item in documents.values()))
        return {row.name: row.id for row in rows}

    async def _named(self, statement: Any, names: Iterable[str]) -> list[Any]:
        wanted = sorted(set(names))
        if not wanted:
            return []
        return list((await self._connection.execute(statement, {"org": self._org, "names": wanted})).all())


def _values(document: MediaDocument) -> dict[str, Any]:
    price, consent = document.price, document.consent_record
    return {
        "type": document.type.value,
        "url": document.url,
        "price": None if price is None else price.amount,
        "currency": None if price is None else price.currency,
        "description": document.description,
        "tags": list(document.tags),
        "consent": consent if consent is None or isinstance(consent, str) else consent.model_dump(mode="json"),
    }


def _same(before: Any, values: dict[str, Any]) -> bool:
    return all(getattr(before, key) == values[key] for key in _FIELDS)


def _words(document: MediaDocument) -> tuple[str, list[str]]:
    return document.description, list(document.tags)


def _told(document: MediaDocument) -> str:
    """What is embedded. Without any words the kind of media stands in: it is close to nothing in particular."""
    return " ".join([document.description, *document.tags]).strip() or document.type.value


def _json(value: Any) -> str | None:
    return None if value is None else json.dumps(value)


def _found(known: Mapping[str, Any], name: str, place: str, field: str) -> Any:
    if name not in known:
        raise _invalid(f"{place}{field}", f"there is no {field} {name!r}")
    return known[name]


def _invalid(field: str, message: str) -> Invalid:
    return Invalid(f"not accepted: {field}", [{"field": field, "message": message}])
