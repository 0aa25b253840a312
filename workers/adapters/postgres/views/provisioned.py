"""What an organisation has provisioned, as it is kept: itself, its personas, rules, media."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any

from sqlalchemy import text

from schemas.errors import NotFound
from schemas.ids import OrgId
from workers.adapters.postgres.views.snapshot import Snapshots

MOST = 200

_ORGANIZATION = text("SELECT name, spec, version, updated_at FROM organizations WHERE id = :org")
_PERSONAS = text("SELECT name, spec, version, updated_at FROM personas WHERE org_id = :org ORDER BY name LIMIT 1000")
_PERSONA = text("SELECT name, spec, version, updated_at FROM personas WHERE org_id = :org AND name = :name")
_RULES = text(
    "SELECT name, spec, 0 AS version, updated_at FROM rules WHERE org_id = :org "
    "ORDER BY (spec ->> 'priority')::int DESC NULLS LAST, name"
)
_SHOWN = (
    "SELECT m.name, m.type, m.url, m.price, m.currency, m.description, m.tags, m.consent IS NOT NULL AS consented, "
    "a.name AS album FROM media_items m LEFT JOIN albums a ON a.id = m.album_id WHERE m.org_id = :org "
    "AND m.persona_id = (SELECT id FROM personas WHERE org_id = :org AND name = :persona) "
)
_MEDIA = text(_SHOWN + "AND m.deleted_at IS NULL AND m.name > :after ORDER BY m.name LIMIT :limit")
_WITHDRAWN = text(_SHOWN + "AND m.deleted_at IS NOT NULL ORDER BY m.deleted_at DESC LIMIT :limit")
_AUDIT = text(
    "SELECT at, who, action, subject, facts FROM audit_log WHERE org_id = :org "
    "AND action IN ('organization.updated', 'persona.updated') AND subject = :subject ORDER BY id DESC LIMIT 12"
)


@dataclass(frozen=True, slots=True)
class Kept:
    """A resource. Of an organisation the webhook's secret is left out."""

    name: str
    spec: dict[str, Any]
    version: int
    updated_at: datetime


@dataclass(frozen=True, slots=True)
class Media:
    name: str
    type: str
    url: str
    price: Decimal | None
    currency: str | None
    description: str
    tags: Sequence[str]
    consented: bool
    album: str | None


class Provisioned:
    def __init__(self, snapshots: Snapshots) -> None:
        self._snapshots = snapshots

    async def organization(self, org: OrgId) -> Kept:
        (kept,) = await self._kept(_ORGANIZATION, org=org)
        if kept.spec.get("webhook"):
            kept.spec["webhook"].pop("secret", None)
        return kept

    async def personas(self, org: OrgId) -> list[Kept]:
        return await self._kept(_PERSONAS, org=org)

    async def persona(self, org: OrgId, name: str) -> Kept:
        """Raises NotFound."""
        found = await self._kept(_PERSONA, org=org, name=name)
        if not found:
            raise NotFound("no such persona")
        return found[0]

    async def rules(self, org: OrgId) -> list[Kept]:
        """The one with the highest priority first."""
        return await self._kept(_RULES, org=org)

    async def media(self, org: OrgId, persona: str, after: str, limit: int) -> list[Media]:
        """By name, those behind `after`."""
        async with self._snapshots.open() as connection:
            bound = {"org": org, "persona": persona, "after": after, "limit": limit}
            rows = await connection.execute(_MEDIA, bound)
            return [Media(**row._mapping) for row in rows]

    async def withdrawn(self, org: OrgId, persona: str, limit: int) -> list[Media]:
        """What was withdrawn, the newest first."""
        async with self._snapshots.open() as connection:
            rows = await connection.execute(_WITHDRAWN, {"org": org, "persona": persona, "limit": limit})
            return [Media(**row._mapping) for row in rows]

    async def changes(self, org: OrgId, subject: str) -> list[Any]:
        """The newest rows of the audit log about an organisation or persona: `at`, `who`, `action`, `facts`."""
        async with self._snapshots.open() as connection:
            return list((await connection.execute(_AUDIT, {"org": org, "subject": subject})).all())

    async def _kept(self, statement: Any, **values: Any) -> list[Kept]:
        async with self._snapshots.open() as connection:
            rows = await connection.execute(statement, values)
            return [Kept(row.name, dict(row.spec), row.version, row.updated_at) for row in rows]
