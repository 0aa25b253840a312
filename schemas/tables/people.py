"""Who is served and who may call: organisations, personas, contacts, keys, the audit log, the installation."""

from sqlalchemy import CheckConstraint, ForeignKey, Index, UniqueConstraint
from sqlalchemy import text as sql
from sqlalchemy.orm import Mapped, mapped_column

from schemas.tables.base import Count, Facts, Flag, Key, Moment, Ref, Stamp, Str, Table


class InstallationRow(Table):
    """One row: what this installation is called in webhook ids, its secret, and the epoch of its Redis.

    `runs_since`: code that knows the schema of this revision, or a later one, runs on the schema as it is now."""

    __tablename__ = "installation"

    id: Mapped[Key]
    tag: Mapped[Str]
    secret: Mapped[Str]
    redis_epoch: Mapped[Str | None]
    runs_since: Mapped[Str] = mapped_column(server_default=sql("'0010'"))
    created_at: Mapped[Stamp]


class OrganizationRow(Table):
    __tablename__ = "organizations"

    id: Mapped[Key]
    name: Mapped[Str]
    spec: Mapped[Facts]
    version: Mapped[Count]
    strategy_version: Mapped[Count]
    webhook_disabled_at: Mapped[Moment | None]
    updated_at: Mapped[Stamp]

    __table_args__ = (UniqueConstraint("name"),)


class PersonaRow(Table):
    """`brisk`: its contacts nearly always write within four minutes; counted at `paced_at`."""

    __tablename__ = "personas"

    id: Mapped[Key]
    org_id: Mapped[Ref]
    name: Mapped[Str]
    spec: Mapped[Facts]
    version: Mapped[Count]
    brisk: Mapped[Flag]
    paced_at: Mapped[Moment | None]
    updated_at: Mapped[Stamp]

    __table_args__ = (UniqueConstraint("org_id", "name"),)


class ContactRow(Table):
    __tablename__ = "contacts"

    id: Mapped[Key]
    org_id: Mapped[Ref]
    name: Mapped[Str]
    display_name: Mapped[Str | None]
    locale: Mapped[Str | None]
    timezone: Mapped[Str | None]
    profile: Mapped[Facts]
    noticed_at: Mapped[Moment | None]
    opted_out_at: Mapped[Moment | None]
    locked_at: Mapped[Moment | None]
    cleared_at: Mapped[Moment | None]
    """Consent was given, or two people opened a safety lock: what was said before closes nothing again."""
    erased_at: Mapped[Moment | None]
    created_at: Mapped[Stamp]

    __table_args__ = (UniqueConstraint("org_id", "name"),)


class ConsentRow(Table):
    """Append-only: what a contact has said no or yes to, what has locked them, and who opened that again.

    `act`: opted_out, opted_in, locked, reopening, reopened. `rule` is what was heard, in `message` (the upstream app's
    id of it): the evidence is the message itself, never a copy.
    """

    __tablename__ = "consent_records"

    id: Mapped[Key]
    org_id: Mapped[Ref]
    contact_id: Mapped[Ref] = mapped_column(ForeignKey("contacts.id"))
    conversation_id: Mapped[Ref] = mapped_column(ForeignKey("conversations.id"))
    at: Mapped[Stamp]
    act: Mapped[Str]
    who: Mapped[Str]
    rule: Mapped[Str | None]
    reason: Mapped[Str | None]
    message: Mapped[Str | None]
    job_id: Mapped[Ref | None]

    __table_args__ = (
        CheckConstraint("act IN ('opted_out', 'opted_in', 'locked', 'reopening', 'reopened')", name="act"),
        Index(None, "contact_id", "id"),
    )


class ApiKeyRow(Table):
    """`hash` is HMAC-SHA-256 of the key under the installation's secret: keys are long and random."""

    __tablename__ = "api_keys"

    id: Mapped[Key]
    org_id: Mapped[Ref | None]
    role: Mapped[Str]
    name: Mapped[Str]
    hash: Mapped[Str]
    created_at: Mapped[Stamp]
    revoked_at: Mapped[Moment | None]

    __table_args__ = (UniqueConstraint("hash"),)


class AuditRow(Table):
    """Append-only: who changed what."""

    __tablename__ = "audit_log"

    id: Mapped[Key]
    at: Mapped[Stamp]
    org_id: Mapped[Ref | None]
    who: Mapped[Str]
    action: Mapped[Str]
    subject: Mapped[Str]
    facts: Mapped[Facts]

    __table_args__ = (Index(None, "org_id", "id"), Index("audit_log_subject", "org_id", "subject"))
