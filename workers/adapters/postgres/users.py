"""People who may sign in: made, listed, disabled; the one-time links that set their passwords."""

import secrets
from hashlib import sha256
from typing import Any

from sqlalchemy import text
from sqlalchemy.exc import IntegrityError

from schemas.access import Caller, Role
from schemas.answers import Page
from schemas.errors import Conflict, Invalid, NotFound
from schemas.ids import OrgId, UserId, reference
from schemas.settings import Settings
from schemas.users import UserIn, UserLinkOut, UserMade, UserOut, UserSpec
from workers.adapters.passwords import Passwords
from workers.adapters.postgres.audit import write_audit
from workers.adapters.postgres.database import Database
from workers.adapters.postgres.provision_users import put_user
from workers.adapters.postgres.views.paging import before

LINK = "/console/link/"

_SHOWN = (
    "SELECT u.id, u.name, u.email, u.role, u.locale, u.created_at, u.disabled_at, "
    "u.password IS NOT NULL AS has_password, u.org_id, "
    "o.name AS organization FROM users u LEFT JOIN organizations o ON o.id = u.org_id "
)
_MINE = "(CAST(:org AS bigint) IS NULL OR u.org_id = :org)"
_ONE = text(_SHOWN + f"WHERE u.id = :id AND {_MINE}")
_NAMED = text(_SHOWN + "WHERE u.org_id IS NOT DISTINCT FROM CAST(:org AS bigint) AND u.name = :name")
# An address is somebody's alone, a name is only within an organisation.
_CALLED = text(_SHOWN + f"WHERE {_MINE} AND (u.email = lower(:word) OR u.name = :word) ORDER BY u.id LIMIT 20")
_LIST = text(_SHOWN + f"WHERE u.id < :before AND {_MINE} ORDER BY u.id DESC LIMIT :limit")
_ORGANIZATION = text("SELECT id FROM organizations WHERE name = :name")
_DISABLE = text("UPDATE users SET disabled_at = coalesce(disabled_at, clock_timestamp()) WHERE id = :id")
_SIGN_OUT = text("DELETE FROM console_sessions WHERE user_id = :id")
_VOID = text("UPDATE user_links SET used_at = clock_timestamp() WHERE user_id = :id AND used_at IS NULL")
_LINK = text(
    "INSERT INTO user_links (user_id, hash, expires_at) "
    "VALUES (:id, :hash, clock_timestamp() + make_interval(secs => :seconds)) RETURNING expires_at"
)
_OPEN = (
    "FROM user_links l JOIN users u ON u.id = l.user_id WHERE l.hash = :hash AND l.used_at IS NULL "
    "AND l.expires_at > clock_timestamp() AND u.disabled_at IS NULL"
)
_LOOK = text(f"SELECT u.name, u.email, u.locale {_OPEN}")
_USE = text(
    f"WITH open AS (SELECT l.id, l.user_id {_OPEN} FOR UPDATE OF l), "
    "used AS (UPDATE user_links SET used_at = clock_timestamp() FROM open WHERE user_links.id = open.id) "
    "UPDATE users SET password = :password, updated_at = clock_timestamp() FROM open WHERE users.id = open.user_id "
    "RETURNING users.id, users.org_id, users.name"
)


def fingerprint(token: str) -> str:
    """Of a token of 256 random bits: nothing slower is needed."""
    return sha256(token.encode()).hexdigest()


class Users:
    def __init__(self, database: Database, settings: Settings, passwords: Passwords) -> None:
        self._db = database
        self._settings = settings
        self._passwords = passwords

    async def add(self, wanted: UserIn, caller: Caller) -> UserMade:
        """Raises `Invalid` when role and organisation do not go together or the email is taken, `Conflict` when the
        name is."""
        spec = UserSpec(email=wanted.email, role=wanted.role, locale=wanted.locale)
        try:
            async with self._db.transaction() as connection:
                org = await self._owner(connection, wanted, caller)
                if (await connection.execute(_NAMED, {"org": org, "name": wanted.name})).one_or_none() is not None:
                    raise Conflict(f"there is a user named {wanted.name!r} already")
                await put_user(connection, org, caller.who, wanted.name, spec)
                row = (await connection.execute(_NAMED, {"org": org, "name": wanted.name})).one()
                link = await self._link(connection, row)
        except IntegrityError as error:
            raise Conflict("somebody made this user at the same moment") from error
        return UserMade(**_shown(row).model_dump(), link=link)

    async def called(self, org: OrgId | None, word: str) -> UserId:
        """By address or name. Raises `NotFound`, and `Conflict` when several are called that."""
        async with self._db.transaction() as connection:
            rows = (await connection.execute(_CALLED, {"org": org, "word": word})).all()
        if not rows:
            raise NotFound("no such user: give an id like user_42, an address, or a name")
        if len(rows) > 1:
            raise Conflict("several users are called that", users=[reference("user", row.id) for row in rows])
        return UserId(rows[0].id)

    async def list(self, org: OrgId | None, cursor: str | None, limit: int) -> Page[UserOut]:
        bound = {"org": org, "before": before("user", cursor), "limit": limit + 1}
        async with self._db.transaction() as connection:
            rows = (await connection.execute(_LIST, bound)).all()
        following = reference("user", rows[limit - 1].id) if len(rows) > limit else None
        return Page[UserOut](items=[_shown(row) for row in rows[:limit]], next=following)

    async def link(self, org: OrgId | None, user: UserId, who: str) -> UserLinkOut:
        """A new link; earlier ones are void. Raises `NotFound`, and `Conflict` for a disabled user."""
        async with self._db.transaction() as connection:
            row = (await connection.execute(_ONE, {"id": user, "org": org})).one_or_none()
            if row is None:
                raise NotFound("no such user")
            if row.disabled_at is not None:
                raise Conflict("this user is disabled", state="disabled")
            await connection.execute(_VOID, {"id": user})
            await write_audit(connection, row.org_id, who, "user.linked", row.name, {})
            return await self._link(connection, row)

    async def disable(self, org: OrgId | None, user: UserId, who: str) -> UserOut:
        """They are signed out at once; again is no error. Raises `NotFound`."""
        async with self._db.transaction() as connection:
            row = (await connection.execute(_ONE, {"id": user, "org": org})).one_or_none()
            if row is None:
                raise NotFound("no such user")
            for statement in (_DISABLE, _SIGN_OUT, _VOID):
                await connection.execute(statement, {"id": user})
            await write_audit(connection, row.org_id, who, "user.disabled", row.name, {})
            row = (await connection.execute(_ONE, {"id": user, "org": org})).one()
        return _shown(row)

    async def behind(self, token: str) -> Any:
        """Whose link it is: `name`, `email`, `locale`. Raises `NotFound` when it was used or is too old."""
        async with self._db.transaction() as connection:
            row = (await connection.execute(_LOOK, {"hash": fingerprint(token)})).one_or_none()
        if row is None:
            raise NotFound("this link was used, or is too old")
        return row

    async def set_password(self, token: str, password: str) -> UserId:
        """Uses the link up, and signs out whoever was in under the old password. Raises `NotFound`."""
        hashed = await self._passwords.hash(password)
        async with self._db.transaction() as connection:
            row = (await connection.execute(_USE, {"hash": fingerprint(token), "password": hashed})).one_or_none()
            if row is None:
                raise NotFound("this link was used, or is too old")
            await connection.execute(_SIGN_OUT, {"id": row.id})
            await write_audit(connection, row.org_id, row.name, "user.password_set", row.name, {})
        return UserId(row.id)

    async def _link(self, connection: Any, row: Any) -> UserLinkOut:
        token = secrets.token_urlsafe(32)
        seconds = self._settings.console.link_hours * 3600
        values = {"id": row.id, "hash": fingerprint(token), "seconds": seconds}
        expires = await connection.scalar(_LINK, values)
        url = f"{self._settings.public_url.rstrip('/')}{LINK}{token}"
        return UserLinkOut(user=reference("user", row.id), url=url, expires_at=expires)

    async def _owner(self, connection: Any, wanted: UserIn, caller: Caller) -> OrgId | None:
        name = wanted.organization or caller.named
        if name is None:
            if wanted.role == "operator":
                raise _wrong("organization", "an operator belongs to one organisation")
            return None
        if caller.named not in (None, name):
            raise _wrong("organization", f"the header X-Organization names {caller.named!r}")
        found = await connection.scalar(_ORGANIZATION, {"name": name})
        if found is None:
            raise _wrong("organization", f"there is no organisation {name!r}")
        return OrgId(found)


def _wrong(field: str, message: str) -> Invalid:
    return Invalid("the user cannot be made", [{"field": field, "message": message}])


def _shown(row: Any) -> UserOut:
    return UserOut(
        id=reference("user", row.id),
        name=row.name,
        email=row.email,
        role=Role(row.role),
        locale=row.locale,
        organization=row.organization,
        has_password=row.has_password,
        created_at=row.created_at,
        disabled_at=row.disabled_at,
    )
