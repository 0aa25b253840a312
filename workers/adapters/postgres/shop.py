"""What a persona sells, as one contact stands to it: both are filtered where it is read."""

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import text

from schemas.catalogue import Media, MediaType
from schemas.ids import ContactId, OrgId, PersonaId
from schemas.money import Price
from schemas.payments import Ware
from workers.adapters.postgres.database import Database
from workers.adapters.postgres.locks import Locked
from workers.adapters.postgres.transaction import Transaction, sql

_WARES = """
SELECT m.name, m.url, m.type, m.price, m.currency, m.description, m.consent IS NOT NULL AS consented,
       EXISTS (SELECT 1 FROM media_facts f WHERE f.contact_id = :contact AND f.media_id = m.id AND f.what = 'bought')
         AS bought
FROM media_items m
WHERE m.org_id = :org AND m.persona_id = :persona AND m.name = ANY(:names) AND m.deleted_at IS NULL
"""
_WARES_NOW = text(_WARES)
_WARES_LOCKED = sql(_WARES)


class StoredShop:
    def __init__(self, database: Database) -> None:
        self._db = database

    async def wares(
        self, org: OrgId, persona: PersonaId, contact: ContactId, names: Sequence[str]
    ) -> Mapping[str, Ware]:
        """Raises `Unavailable`."""
        bound = {"org": org, "persona": persona, "contact": contact, "names": list(names)}
        async with self._db.transaction() as connection:
            rows = (await connection.execute(_WARES_NOW, bound)).all()
        return _by_name(rows)


async def wares_for(tx: Transaction, conversation: Locked, names: Sequence[str]) -> Mapping[str, Ware]:
    """The same under the conversation's lock, for its persona and contact."""
    rows = await tx.all(
        _WARES_LOCKED,
        org=conversation.org,
        persona=conversation.persona.id,
        contact=conversation.contact_id,
        names=list(names),
    )
    return _by_name(rows)


def _by_name(rows: Sequence[Any]) -> dict[str, Ware]:
    return {row.name: _ware(row) for row in rows}


def _ware(row: Any) -> Ware:
    price = None if row.price is None else Price(row.price, row.currency)
    kind, about = MediaType(row.type), row.description
    media = Media(row.name, kind, row.url, price=price, description=about)
    return Ware(media, row.consented, row.bought)
