"""API keys: made, found by their hash, revoked. The key itself is shown once and never stored."""

import hmac
import secrets
from typing import Any

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

from pipelines.text import fold
from schemas.access import Caller, KnownKey, Role
from schemas.answers import KeyIn, KeyMade, KeyOut, Page
from schemas.errors import Conflict, Invalid, NotFound
from schemas.ids import KeyId, OrgId, reference
from schemas.settings import Settings
from workers.adapters.postgres.audit import write_audit
from workers.adapters.postgres.database import Database
from workers.adapters.postgres.views.paging import before

BOOTSTRAP = "bootstrap"

_SECRET = text("SELECT secret FROM installation ORDER BY id LIMIT 1")
_FIND = text("SELECT id, role, name, org_id, hash FROM api_keys WHERE hash = :hash AND revoked_at IS NULL")
_INSERT = text(
    "INSERT INTO api_keys (org_id, role, name, hash) VALUES (:org, :role, :name, :hash) "
    "ON CONFLICT (hash) DO NOTHING RETURNING id, created_at"
)
# Two keys of one role are two people: what they do is told apart also when nobody gave them names.
_NAME = text("UPDATE api_keys SET name = :name WHERE id = :id")
_SHOWN = "SELECT k.id, k.role, k.name, k.created_at, k.revoked_at, o.name AS organization, k.org_id FROM api_keys k "
# Two keys made at once could both find the name free.
_ONE_AT_A_TIME = text("SELECT pg_advisory_xact_lock(hashtextextended('key names', coalesce(CAST(:org AS bigint), 0)))")
_NAMES = text("SELECT name FROM api_keys WHERE org_id IS NOT DISTINCT FROM CAST(:org AS bigint) AND revoked_at IS NULL")
_LIST = text(
    _SHOWN + "LEFT JOIN organizations o ON o.id = k.org_id "
    "WHERE k.id < :before AND (CAST(:org AS bigint) IS NULL OR k.org_id = :org) ORDER BY k.id DESC LIMIT :limit"
)
_REVOKE = text(
    "WITH k AS (UPDATE api_keys SET revoked_at = coalesce(revoked_at, clock_timestamp()) "
    "WHERE id = :id AND (CAST(:org AS bigint) IS NULL OR org_id = :org) RETURNING *) "
    + _SHOWN.replace("FROM api_keys k", "FROM k")
    + "LEFT JOIN organizations o ON o.id = k.org_id"
)
_ORGANIZATION = text("SELECT id FROM organizations WHERE name = :name")


class Keys:
    """Hashes are HMAC-SHA-256 under the installation's secret, or `REPLIQUE_SECRET_KEY` where one is set."""

    def __init__(self, database: Database, settings: Settings) -> None:
        self._db = database
        self._settings = settings
        self._pepper: bytes | None = None

    async def hash_of(self, key: str) -> str:
        """Of a presented key. The first call also makes the bootstrap key, so a gateway may start before its
        database answers. Raises `Unavailable`."""
        if self._pepper is None:
            self._pepper = await self._prepare()
        return _hash(self._pepper, key)

    async def find(self, hashed: str) -> KnownKey | None:
        async with self._db.transaction() as connection:
            row = (await connection.execute(_FIND, {"hash": hashed})).one_or_none()
        if row is None or not hmac.compare_digest(row.hash, hashed):
            return None
        return KnownKey(KeyId(row.id), Role(row.role), row.name, None if row.org_id is None else OrgId(row.org_id))

    async def organization(self, name: str) -> OrgId | None:
        async with self._db.transaction() as connection:
            found = await connection.scalar(_ORGANIZATION, {"name": name})
        return None if found is None else OrgId(found)

    async def organizations(self, limit: int = 20) -> list[str]:
        """Names, for the sentence that asks an admin to pick one."""
        async with self._db.transaction() as connection:
            rows = await connection.scalars(text("SELECT name FROM organizations ORDER BY name LIMIT :n"), {"n": limit})
            return list(rows)

    async def create(self, wanted: KeyIn, caller: Caller) -> KeyMade:
        """Raises `Invalid` when the role and the organisation do not go together, `Conflict` when a key of this name
        is in use: what two people must do is told apart by name."""
        key = "rq_" + secrets.token_urlsafe(32)
        hashed = await self.hash_of(key)
        async with self._db.transaction() as connection:
            org, organization = await self._owner(connection, wanted, caller)
            if wanted.name is not None:
                await _must_be_free(connection, org, wanted.name)
            values = {"org": org, "role": wanted.role.value, "name": wanted.name or wanted.role.value, "hash": hashed}
            row = (await connection.execute(_INSERT, values)).one()
            subject = reference("key", row.id)
            name = wanted.name or f"{wanted.role.value}-{subject}"
            await connection.execute(_NAME, {"id": row.id, "name": name})
            await write_audit(connection, org, caller.who, "key.created", subject, {"role": wanted.role, "name": name})
        return KeyMade(
            id=subject,
            role=wanted.role,
            name=name,
            organization=organization,
            created_at=row.created_at,
            key=key,
        )

    async def list(self, org: OrgId | None, cursor: str | None, limit: int) -> Page[KeyOut]:
        async with self._db.transaction() as connection:
            rows = (
                await connection.execute(_LIST, {"org": org, "before": before("key", cursor), "limit": limit + 1})
            ).all()
        following = reference("key", rows[limit - 1].id) if len(rows) > limit else None
        return Page[KeyOut](items=[_shown(row) for row in rows[:limit]], next=following)

    async def revoke(self, org: OrgId | None, key: KeyId, who: str) -> KeyOut:
        """Again is no error: it stays revoked as of the first time. Raises `NotFound`."""
        async with self._db.transaction() as connection:
            row = (await connection.execute(_REVOKE, {"id": key, "org": org})).one_or_none()
            if row is None:
                raise NotFound("no such key")
            facts = {"role": row.role, "name": row.name}
            await write_audit(connection, row.org_id, who, "key.revoked", reference("key", row.id), facts)
        return _shown(row)

    async def _owner(
        self, connection: AsyncConnection, wanted: KeyIn, caller: Caller
    ) -> tuple[OrgId | None, str | None]:
        if not wanted.role.of_one_organization:
            if wanted.organization is not None:
                raise _wrong(f"a key of the role {wanted.role} sees every organisation: leave it out")
            return None, None
        name = wanted.organization or caller.named
        if name is None:
            raise await self._unnamed(wanted.role)
        if caller.named not in (None, name):
            raise _wrong(f"the header X-Organization names {caller.named!r}")
        org = await connection.scalar(_ORGANIZATION, {"name": name})
        if org is None:
            raise _wrong(f"there is no organisation {name!r}")
        return OrgId(org), name

    async def _unnamed(self, role: Role) -> Invalid:
        message = f"a key of the role {role} belongs to one organisation"
        errors = [{"field": "organization", "message": message}]
        return Invalid("the key cannot be made", errors, organizations=await self.organizations())

    async def _prepare(self) -> bytes:
        given = self._settings.secret_key
        bootstrap = self._settings.bootstrap_key
        async with self._db.transaction() as connection:
            secret = given.get_secret_value() if given else await connection.scalar(_SECRET)
            pepper = str(secret).encode()
            if bootstrap is not None:
                await _bootstrap(connection, _hash(pepper, bootstrap.get_secret_value()))
        return pepper


async def _must_be_free(connection: AsyncConnection, org: OrgId | None, name: str) -> None:
    await connection.execute(_ONE_AT_A_TIME, {"org": org})
    names = await connection.scalars(_NAMES, {"org": org})
    taken = next((other for other in names if fold(other) == fold(name)), None)
    if taken is not None:
        raise Conflict(f"a key named {taken!r} is in use: revoke it first, or name this one after who holds it")


async def _bootstrap(connection: AsyncConnection, hashed: str) -> None:
    values = {"org": None, "role": Role.ADMIN.value, "name": BOOTSTRAP, "hash": hashed}
    row = (await connection.execute(_INSERT, values)).one_or_none()
    if row is not None:
        await write_audit(
            connection, None, "environment", "key.created", reference("key", row.id), {"role": Role.ADMIN}
        )


def _hash(pepper: bytes, key: str) -> str:
    return hmac.digest(pepper, key.encode(), "sha256").hex()


def _wrong(message: str) -> Invalid:
    return Invalid("the key cannot be made", [{"field": "organization", "message": message}])


def _shown(row: Any) -> KeyOut:
    return KeyOut(
        id=reference("key", row.id),
        role=Role(row.role),
        name=row.name,
        organization=row.organization,
        created_at=row.created_at,
        revoked_at=row.revoked_at,
    )
