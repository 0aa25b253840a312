"""The port `Catalogue`: the media of one persona that fit one contact best, and the memory of what was shown where.

Exact, without an index of vectors: a persona has hundreds of media, not millions (see docs/decisions/media.md).
"""

from typing import Any

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

from pipelines.autoreply import tastes
from pipelines.ports import Embedder
from schemas.catalogue import Media, MediaSearch, MediaType, Shelf, Viewer
from schemas.money import Price
from workers.adapters.postgres.database import Database
from workers.adapters.postgres.vectors import as_vector, of_vector

SENDABLE = "m.deleted_at IS NULL AND m.consent IS NOT NULL"
"""May go out at all: it is still there, and who is to be seen agreed."""

ALIKE = 1000
"""Media of one place in the order of albums and prices that are compared with the query."""

_CHOSEN = 20
"""The newest media of a contact that tell what they like."""

_TASTES = text(f"""
SELECT CAST(avg(m.embedding) AS text) FROM (
  SELECT media_id FROM media_facts WHERE contact_id = :contact AND persona_id = :persona
    AND what IN ('received', 'bought') ORDER BY at DESC LIMIT {_CHOSEN}
) AS f JOIN media_items m ON m.id = f.media_id AND m.model = :model
""")

_NOT_BOUGHT = "m.id NOT IN (SELECT media_id FROM media_facts WHERE contact_id = :contact AND what = 'bought')"
_RECEIVED = """m.id IN (SELECT media_id FROM media_facts
  WHERE contact_id = :contact AND persona_id = :persona AND what = 'received')"""
_FAR = "CASE WHEN m.model = :model THEN m.embedding <=> CAST(:vector AS vector) END"
_ANOTHER_ALBUM = "(CAST(:album AS text) IS NOT NULL AND a.name IS DISTINCT FROM CAST(:album AS text))"

# Rows in the order of their ids: two lookups of a run may be under way at once, and must not wait for each other. A
# conversation that exists nowhere (the playground's) remembers nothing.
_SHOWN = f"""
, kept AS (
  INSERT INTO shown_media (conversation_id, media_id)
  SELECT c.id, best.id FROM best JOIN conversations c ON c.id = :conversation ORDER BY best.id
  ON CONFLICT (conversation_id, media_id) DO UPDATE SET at = clock_timestamp()
)
SELECT m.name, m.type, m.url, a.name AS album, m.price, m.currency, m.description, m.tags,
       {_RECEIVED} AS received
FROM best JOIN media_items m ON m.id = best.id LEFT JOIN albums a ON a.id = m.album_id
ORDER BY best.place
"""

_FREE = text(f"""
WITH best AS (
  SELECT m.id, row_number() OVER (
    ORDER BY {_RECEIVED} OR m.name = ANY(:queued), {_ANOTHER_ALBUM}, {_FAR} NULLS LAST, m.id DESC) AS place
  FROM media_items m LEFT JOIN albums a ON a.id = m.album_id
  WHERE m.persona_id = :persona AND m.price IS NULL AND {SENDABLE} AND {_NOT_BOUGHT}
  ORDER BY place LIMIT :limit
){_SHOWN}""")

_PAID = text(f"""
WITH seen AS (
  SELECT m.album_id, count(DISTINCT m.id) AS times FROM media_facts f JOIN media_items m ON m.id = f.media_id
  WHERE f.contact_id = :contact AND f.persona_id = :persona AND f.what IN ('received', 'bought')
  GROUP BY m.album_id
), eligible AS (
  SELECT m.id, m.price, m.currency, m.name = ANY(:queued) AS queued, {_ANOTHER_ALBUM} AS another,
         CASE WHEN :opens THEN coalesce(seen.times, 0) ELSE 0 END AS times,
         row_number() OVER (ORDER BY m.price, m.id) <= (count(*) OVER () + 2) / 3 AS cheap
  FROM media_items m LEFT JOIN albums a ON a.id = m.album_id LEFT JOIN seen ON seen.album_id = m.album_id
  WHERE m.persona_id = :persona AND m.price IS NOT NULL AND {SENDABLE} AND {_NOT_BOUGHT}
), placed AS (
  SELECT id, rank() OVER (ORDER BY queued, another, times, CASE
      WHEN CAST(:low AS numeric) IS NULL THEN CASE WHEN cheap THEN 0 ELSE price END
      WHEN currency <> :currency THEN 'infinity'
      ELSE greatest(CAST(:low AS numeric) - price, price - CAST(:high AS numeric), 0) END) AS place
  FROM eligible
), near AS (
  SELECT id, place FROM placed WHERE place <= :limit ORDER BY place, id LIMIT {ALIKE}
), best AS (
  SELECT m.id, row_number() OVER (ORDER BY near.place, {_FAR} NULLS LAST, m.price, m.id) AS place
  FROM near JOIN media_items m ON m.id = near.id
  ORDER BY place LIMIT :limit
){_SHOWN}""")


class StoredCatalogue:
    """`embedder` is the one that made the stored vectors; what another made comes after the rest."""

    def __init__(self, database: Database, embedder: Embedder) -> None:
        self._db = database
        self._embedder = embedder

    async def look(self, search: MediaSearch, viewer: Viewer) -> list[Media]:
        words = [said for said in (search.query, search.tastes) if said]
        vectors = iter(await self._embedder.embed(words, viewer.org)) if words else iter(())
        query = next(vectors) if search.query else None
        profile = next(vectors) if search.tastes else None
        values = {"contact": viewer.contact, "persona": viewer.persona, "model": self._embedder.name}
        async with self._db.statement() as connection:
            history = await _history(connection, values)
            wanted = tastes.wanted(query, history, profile)
            values |= _asked(search) | {"conversation": viewer.conversation}
            values["vector"] = None if wanted is None else as_vector(wanted)
            rows = (await connection.execute(_PAID if search.shelf is Shelf.PAID else _FREE, values)).all()
        return [media_of(row) for row in rows]


async def _history(connection: AsyncConnection, values: dict[str, Any]) -> tuple[float, ...] | None:
    mean = await connection.scalar(_TASTES, values)
    return None if mean is None else of_vector(mean)


def _asked(search: MediaSearch) -> dict[str, Any]:
    values: dict[str, Any] = {"limit": search.limit, "queued": list(search.queued), "album": search.album}
    if search.shelf is Shelf.FREE:
        return values
    wanted = search.prices
    low, high, currency = (None, None, "") if wanted is None else (wanted.low, wanted.high, wanted.currency)
    return values | {"opens": search.opens, "low": low, "high": high, "currency": currency}


def media_of(row: Any) -> Media:
    """Of a row with the columns that a search answers."""
    return Media(
        id=row.name,
        type=MediaType(row.type),
        url=row.url,
        album=row.album,
        price=None if row.price is None else Price(row.price, row.currency),
        description=row.description,
        tags=tuple(row.tags),
        received=row.received,
    )
