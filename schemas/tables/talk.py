"""What was said: conversations and their messages, the AI's delivered bubbles among them."""

from sqlalchemy import ForeignKey, Index, UniqueConstraint
from sqlalchemy import text as sql
from sqlalchemy.orm import Mapped, mapped_column

from schemas.tables.base import Bytes, Count, Key, Moment, Ref, Stamp, Str, Table


class ConversationRow(Table):
    """`inbound_seq` counts what the contact did (message, edit, delete); this row's lock orders everything else.

    `last_position` numbers the messages; `operator_seq` is `inbound_seq` at the operator's newest message.
    `learned_until`: what was said before then has been searched for facts to remember.
    """

    __tablename__ = "conversations"

    id: Mapped[Key]
    org_id: Mapped[Ref]
    persona_id: Mapped[Ref] = mapped_column(ForeignKey("personas.id"))
    contact_id: Mapped[Ref] = mapped_column(ForeignKey("contacts.id"))
    name: Mapped[Str]
    inbound_seq: Mapped[Count]
    last_position: Mapped[Count]
    last_inbound_at: Mapped[Moment | None]
    operator_seq: Mapped[Count]
    handled_by: Mapped[Str] = mapped_column(server_default=sql("'ai'"))
    handled_by_who: Mapped[Str | None]
    handled_at: Mapped[Moment | None]
    plan: Mapped[Str | None]
    paused_until: Mapped[Moment | None]
    follow_up_at: Mapped[Moment | None]
    learned_until: Mapped[Moment | None]
    created_at: Mapped[Stamp]

    __table_args__ = (
        UniqueConstraint("org_id", "name"),
        Index(None, "contact_id"),
        Index("conversations_persona", "persona_id", "id"),
        Index("conversations_follow_up_at", "follow_up_at", postgresql_where=sql("follow_up_at IS NOT NULL")),
    )


class MessageRow(Table):
    """One message in a conversation. `name` is the upstream id (null for ours); `seq` the contact's count at arrival.

    An AI bubble gets its row when it leaves, in the same transaction, and loses it when the receiver clearly
    refused it for good.
    """

    __tablename__ = "messages"

    id: Mapped[Key]
    org_id: Mapped[Ref]
    conversation_id: Mapped[Ref] = mapped_column(ForeignKey("conversations.id"))
    name: Mapped[Str | None]
    author: Mapped[Str]
    position: Mapped[int]
    seq: Mapped[int | None]
    kind: Mapped[Str] = mapped_column(server_default=sql("'text'"))
    text: Mapped[Str]
    attachments: Mapped[Bytes | None]
    candidate_id: Mapped[Ref | None]
    job_id: Mapped[Ref | None]
    body_hash: Mapped[Str | None]
    reason: Mapped[Str | None]
    sent_at: Mapped[Moment | None]
    created_at: Mapped[Stamp]
    edited_at: Mapped[Moment | None]
    deleted_at: Mapped[Moment | None]

    __table_args__ = (
        UniqueConstraint("org_id", "name"),
        UniqueConstraint("conversation_id", "position"),
        Index("messages_candidate_id", "candidate_id", unique=True, postgresql_where=sql("candidate_id IS NOT NULL")),
    )


class SummaryRow(Table):
    """What was said before position `until`, in a few sentences. It is never rewritten: the prompts of a conversation
    begin with it. `usable_from`: the first position at which a window may begin with it."""

    __tablename__ = "summaries"

    conversation_id: Mapped[Ref] = mapped_column(ForeignKey("conversations.id", ondelete="CASCADE"), primary_key=True)
    until: Mapped[int] = mapped_column(primary_key=True)
    usable_from: Mapped[int]
    text: Mapped[Str]
    created_at: Mapped[Stamp]
