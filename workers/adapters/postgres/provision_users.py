"""Users of a batch: stored as the documents say. A password is never part of a document."""

from collections.abc import Mapping

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

from schemas.answers import Change
from schemas.errors import Invalid
from schemas.users import UserDocument, UserSpec
from workers.adapters.postgres.audit import write_audit

_STORED = text(
    "SELECT id, org_id, name, email, role, locale, disabled_at FROM users "
    "WHERE org_id IS NOT DISTINCT FROM CAST(:org AS bigint) AND name = :name"
)
_TAKEN = text("SELECT 1 FROM users WHERE email = :email AND id <> :id")
# What two people do is told apart by name, whichever way they came in.
_IS_A_KEY = text(
    "SELECT 1 FROM api_keys WHERE lower(name) = lower(:name) AND revoked_at IS NULL "
    "AND (org_id IS NULL OR CAST(:org AS bigint) IS NULL OR org_id = :org)"
)
_INSERT = text(
    "INSERT INTO users (org_id, name, email, role, locale) VALUES (:org, :name, :email, :role, :locale) RETURNING id"
)
_UPDATE = text(
    "UPDATE users SET email = :email, role = :role, locale = :locale, updated_at = clock_timestamp() WHERE id = :id"
)


async def apply_users(
    connection: AsyncConnection, org: int, who: str, documents: Mapping[str, UserDocument]
) -> dict[tuple[str, str], Change]:
    """`documents` by their place in the request. Raises Invalid when an email or a name is somebody else's."""
    return {
        (item.kind, item.name): await put_user(connection, org, who, item.name, item, place)
        for place, item in documents.items()
    }


async def put_user(
    connection: AsyncConnection, org: int | None, who: str, name: str, wanted: UserSpec, place: str = ""
) -> Change:
    row = (await connection.execute(_STORED, {"org": org, "name": name})).one_or_none()
    values = {"email": wanted.email, "role": wanted.role, "locale": wanted.locale}
    if row is not None and all(getattr(row, field) == value for field, value in values.items()):
        return Change.UNCHANGED
    if await connection.scalar(_TAKEN, {"email": wanted.email, "id": 0 if row is None else row.id}):
        raise _not_free(f"{place}email", f"{wanted.email} signs in already under another name")
    if row is None:
        if await connection.scalar(_IS_A_KEY, {"org": org, "name": name}):
            raise _not_free(f"{place}name", f"a key named {name!r} is in use: name this person otherwise")
        await connection.execute(_INSERT, {"org": org, "name": name, **values})
    else:
        await connection.execute(_UPDATE, {"id": row.id, **values})
    change = Change.CREATED if row is None else Change.UPDATED
    changed = sorted(field for field in values if row is None or getattr(row, field) != values[field])
    await write_audit(connection, org, who, f"user.{change}", name, {"role": wanted.role, "changed": changed})
    return change


def _not_free(field: str, message: str) -> Invalid:
    return Invalid(f"not accepted: {field}", [{"field": field, "message": message}])
