"""The console's own: who may sign in, who is signed in, and whose guesses were wrong."""

from sqlalchemy import CheckConstraint, ForeignKey, Index, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from schemas.tables.base import Key, Moment, Ref, Stamp, Str, Table


class UserRow(Table):
    """A person. `org_id` is where they were provisioned; ops and admins see every organisation all the same.

    `email` is kept in lower case; `password` is an argon2 hash, null until a one-time link was used.
    """

    __tablename__ = "users"

    id: Mapped[Key]
    org_id: Mapped[Ref | None]
    name: Mapped[Str]
    email: Mapped[Str]
    role: Mapped[Str]
    locale: Mapped[Str]
    password: Mapped[Str | None]
    created_at: Mapped[Stamp]
    updated_at: Mapped[Stamp]
    disabled_at: Mapped[Moment | None]

    __table_args__ = (
        CheckConstraint("role IN ('operator', 'ops', 'admin')", name="role"),
        UniqueConstraint("email"),
        UniqueConstraint("org_id", "name", postgresql_nulls_not_distinct=True),
    )


class UserLinkRow(Table):
    """A link that sets a password, once. Only its hash is kept."""

    __tablename__ = "user_links"

    id: Mapped[Key]
    user_id: Mapped[Ref] = mapped_column(ForeignKey("users.id"))
    hash: Mapped[Str]
    created_at: Mapped[Stamp]
    expires_at: Mapped[Moment]
    used_at: Mapped[Moment | None]

    __table_args__ = (UniqueConstraint("hash"), Index(None, "user_id"))


class ConsoleSessionRow(Table):
    """A browser that is signed in, by a user's password or by a key. `org_id`: the organisation that somebody who sees
    several has chosen. `seen_at`: the last thing its person did; what a page fetches by itself does not count."""

    __tablename__ = "console_sessions"

    id: Mapped[Key]
    hash: Mapped[Str]
    user_id: Mapped[Ref | None] = mapped_column(ForeignKey("users.id"))
    key_id: Mapped[Ref | None] = mapped_column(ForeignKey("api_keys.id"))
    org_id: Mapped[Ref | None]
    locale: Mapped[Str | None]
    created_at: Mapped[Stamp]
    seen_at: Mapped[Stamp]

    __table_args__ = (
        CheckConstraint("(user_id IS NULL) <> (key_id IS NULL)", name="holder"),
        UniqueConstraint("hash"),
        Index(None, "user_id"),
        Index(None, "created_at"),
    )


class SignInFailureRow(Table):
    """A wrong password, key or link. `subject` is a keyed hash: of the address, or of the email that was tried."""

    __tablename__ = "sign_in_failures"

    id: Mapped[Key]
    subject: Mapped[Str]
    at: Mapped[Stamp]

    __table_args__ = (Index(None, "subject", "at"), Index(None, "at"))
