"""Who is signed in to the console: opened by a password or a key, found by a cookie, over after a while."""

import hmac
import secrets
from typing import Any

from sqlalchemy import text

from schemas.access import KnownKey, Role
from schemas.errors import NotFound, RateLimited
from schemas.ids import KeyId, OrgId, SessionId, UserId
from schemas.settings import Settings
from schemas.users import Session
from workers.adapters.passwords import Passwords
from workers.adapters.postgres.audit import write_audit
from workers.adapters.postgres.database import Database
from workers.adapters.postgres.secret import InstallationSecret
from workers.adapters.postgres.users import fingerprint

WITHIN_SECONDS = 900
"""How long a wrong sign-in counts."""

_FAILED = text(
    "SELECT max(n) AS n FROM (SELECT count(*) AS n FROM sign_in_failures "
    "WHERE subject = ANY(:subjects) AND at > clock_timestamp() - make_interval(secs => :within) "
    "GROUP BY subject) AS each"
)
_NOTE = text("INSERT INTO sign_in_failures (subject) SELECT unnest(CAST(:subjects AS text[]))")
_FORGET = text("DELETE FROM sign_in_failures WHERE at < clock_timestamp() - make_interval(secs => 4 * :within)")
_USER = text("SELECT id, org_id, name, password FROM users WHERE email = :email AND disabled_at IS NULL")
_OPEN = text("INSERT INTO console_sessions (hash, user_id, key_id) VALUES (:hash, :user, :key)")
_OVER = text("DELETE FROM console_sessions WHERE created_at < clock_timestamp() - make_interval(secs => :longest)")
_CLOSE = text("DELETE FROM console_sessions WHERE hash = :hash")
_SEEN = text("UPDATE console_sessions SET seen_at = clock_timestamp() WHERE id = :id")
_CHOOSE = text(
    "UPDATE console_sessions s SET org_id = o.id FROM organizations o WHERE s.id = :id AND o.name = :name "
    "RETURNING s.id"
)
_SPEAK = text("UPDATE console_sessions SET locale = :locale WHERE id = :id")
# Who sees several organisations looks at the one they chose, or at the only one there is.
_FIND = text("""
SELECT s.id, s.user_id, s.key_id, h.who, h.role, h.own, COALESCE(s.locale, h.locale) AS locale,
       o.id AS org, o.name AS organization, o.spec ->> 'timezone' AS timezone, clock_timestamp() AS now,
       s.seen_at < clock_timestamp() - interval '1 minute' AS stale
FROM console_sessions s
JOIN LATERAL (
  SELECT u.name AS who, u.role, CASE WHEN u.role = 'operator' THEN u.org_id END AS own, u.locale
  FROM users u WHERE u.id = s.user_id AND u.disabled_at IS NULL
  UNION ALL
  SELECT k.name, k.role, k.org_id, NULL FROM api_keys k
  WHERE k.id = s.key_id AND k.revoked_at IS NULL AND k.role <> 'app'
) h ON true
LEFT JOIN organizations o ON o.id = COALESCE(h.own, s.org_id,
  (SELECT CASE WHEN count(*) = 1 THEN min(id) END FROM (SELECT id FROM organizations ORDER BY id LIMIT 2) AS few))
WHERE s.hash = :hash AND s.seen_at > clock_timestamp() - make_interval(secs => :idle)
  AND s.created_at > clock_timestamp() - make_interval(secs => :longest)
""")


class Sessions:
    """Cookies hold a random token; rows hold its hash."""

    def __init__(
        self, database: Database, settings: Settings, passwords: Passwords, secret: InstallationSecret
    ) -> None:
        self._db = database
        self._console = settings.console
        self._passwords = passwords
        self._secret = secret

    async def by_password(self, email: str, password: str, address: str) -> UserId | None:
        """None when email and password do not belong together. Raises RateLimited after too many of these."""
        tried = await self._subjects(address, email.strip().lower())
        await self._refuse_guessers(tried)
        async with self._db.transaction() as connection:
            row = (await connection.execute(_USER, {"email": email.strip().lower()})).one_or_none()
        if await self._passwords.matches(row.password if row else None, password) and row is not None:
            return UserId(row.id)
        await self._wrong(tried)
        return None

    async def check(self, address: str) -> None:
        """Raises RateLimited when this address has guessed too often."""
        await self._refuse_guessers(await self._subjects(address))

    async def note_failure(self, address: str) -> None:
        await self._wrong(await self._subjects(address))

    async def open_for(self, holder: UserId | KnownKey) -> str:
        """The token of a new session."""
        token = secrets.token_urlsafe(32)
        key = holder.id if isinstance(holder, KnownKey) else None
        user = None if isinstance(holder, KnownKey) else holder
        async with self._db.transaction() as connection:
            await connection.execute(_OVER, {"longest": self._console.session_hours * 3600})
            await connection.execute(_OPEN, {"hash": fingerprint(token), "user": user, "key": key})
            found = (await connection.execute(_FIND, self._bound(token))).one()
            await write_audit(connection, found.own, found.who, "console.signed_in", found.who, {"by_key": bool(key)})
        return token

    async def find(self, token: str, *, active: bool) -> Session | None:
        """`active`: a person did something, so the session lives on."""
        async with self._db.transaction() as connection:
            row = (await connection.execute(_FIND, self._bound(token))).one_or_none()
            if row is not None and active and row.stale:
                await connection.execute(_SEEN, {"id": row.id})
        return None if row is None else _session(row)

    async def close(self, token: str) -> None:
        async with self._db.transaction() as connection:
            await connection.execute(_CLOSE, {"hash": fingerprint(token)})

    async def choose(self, session: Session, organization: str) -> None:
        """Which organisation the pages show. Raises NotFound, also for who is bound to another."""
        async with self._db.transaction() as connection:
            bound = {"id": session.id, "name": organization}
            if session.own is not None or await connection.scalar(_CHOOSE, bound) is None:
                raise NotFound("no such organisation")

    async def speak(self, session: Session, locale: str) -> None:
        async with self._db.transaction() as connection:
            await connection.execute(_SPEAK, {"id": session.id, "locale": locale})

    def _bound(self, token: str) -> dict[str, Any]:
        idle, longest = self._console.idle_minutes * 60, self._console.session_hours * 3600
        return {"hash": fingerprint(token), "idle": idle, "longest": longest}

    async def _subjects(self, *texts: str) -> list[str]:
        secret = (await self._secret()).encode()
        return [hmac.digest(secret, f"sign-in {text}".encode(), "sha256").hex() for text in texts]

    async def _refuse_guessers(self, subjects: list[str]) -> None:
        async with self._db.transaction() as connection:
            failed = await connection.scalar(_FAILED, {"subjects": subjects, "within": WITHIN_SECONDS}) or 0
        if failed >= self._console.failed_sign_ins:
            raise RateLimited("too many wrong sign-ins", retry_after=WITHIN_SECONDS)

    async def _wrong(self, subjects: list[str]) -> None:
        async with self._db.transaction() as connection:
            await connection.execute(_NOTE, {"subjects": subjects})
            await connection.execute(_FORGET, {"within": WITHIN_SECONDS})


def _session(row: Any) -> Session:
    return Session(
        id=SessionId(row.id),
        user=None if row.user_id is None else UserId(row.user_id),
        key=None if row.key_id is None else KeyId(row.key_id),
        who=row.who,
        role=Role(row.role),
        locale=row.locale,
        own=None if row.own is None else OrgId(row.own),
        org=None if row.org is None else OrgId(row.org),
        organization=row.organization,
        timezone=row.timezone or "UTC",
        now=row.now,
    )
