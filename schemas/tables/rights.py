"""What was erased and what still is to be: of contacts who asked, and of what an organisation keeps no longer."""

from sqlalchemy import ForeignKey, Index
from sqlalchemy import text as sql
from sqlalchemy.orm import Mapped, mapped_column

from schemas.tables.base import Facts, Flag, Key, Moment, Ref, Stamp, Str, Table


class ErasureRow(Table):
    """One contact who was erased, and how far it is.

    `subject` is a hash of the contact's name under the installation's secret: it answers for a name that it does not
    hold. `contact_id` leads to what is left to erase. `locked`: a safety lock was on the contact, and is on whoever
    comes under that name again. `receipt`: rows erased by store. `due_at` null: all is done.
    """

    __tablename__ = "erasures"

    id: Mapped[Key]
    org_id: Mapped[Ref]
    subject: Mapped[Str]
    contact_id: Mapped[Ref]
    who: Mapped[Str]
    locked: Mapped[Flag] = mapped_column(server_default=None)
    receipt: Mapped[Facts] = mapped_column(server_default=sql("'{}'"))
    error: Mapped[Str | None]
    due_at: Mapped[Moment | None]
    asked_at: Mapped[Stamp]
    finished_at: Mapped[Moment | None]

    __table_args__ = (
        Index("erasures_subject", "org_id", "subject", "id"),
        Index("erasures_due", "due_at", postgresql_where=sql("due_at IS NOT NULL")),
    )


class DoomedFileRow(Table):
    """A file whose bubble is gone. Written in the transaction that erases the bubble, and deleted after the file."""

    __tablename__ = "doomed_files"

    key: Mapped[Str] = mapped_column(primary_key=True)
    erasure_id: Mapped[Ref | None]
    due_at: Mapped[Stamp]

    __table_args__ = (Index("doomed_files_due", "due_at"), Index("doomed_files_erasure", "erasure_id"))


class RetentionPassRow(Table):
    """How far the sweeper is with an organisation's conversations, by name; `erased` counts rows by store, for good."""

    __tablename__ = "retention_passes"

    org_id: Mapped[Ref] = mapped_column(ForeignKey("organizations.id"), primary_key=True)
    after: Mapped[Str] = mapped_column(server_default=sql("''"))
    due_at: Mapped[Stamp]
    erased: Mapped[Facts] = mapped_column(server_default=sql("'{}'"))
