"""What a persona can show and sell, what each contact had of it, and the links under which they pay."""

from decimal import Decimal
from typing import Annotated, Any

from sqlalchemy import CheckConstraint, ForeignKey, Index, Numeric, UniqueConstraint
from sqlalchemy import text as sql
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.orm import Mapped, mapped_column

from schemas.tables.base import Key, Moment, Ref, Stamp, Str, Table
from schemas.tables.vectors import DIMS, Vector

Amount = Annotated[Decimal, mapped_column(Numeric(14, 4))]


class AlbumRow(Table):
    __tablename__ = "albums"

    id: Mapped[Key]
    org_id: Mapped[Ref]
    persona_id: Mapped[Ref] = mapped_column(ForeignKey("personas.id"))
    name: Mapped[Str]
    title: Mapped[Str]
    created_at: Mapped[Stamp]
    updated_at: Mapped[Stamp]

    __table_args__ = (UniqueConstraint("org_id", "name"),)


class MediaRow(Table):
    """A photo or a video behind an address of the platform. Without `price` it is free.

    `consent`: who is to be seen and agreed; without it the media is never sent. `model` made the `embedding` of
    description and tags; vectors of two models are never compared. `deleted_at`: it is offered no more.
    """

    __tablename__ = "media_items"

    id: Mapped[Key]
    org_id: Mapped[Ref]
    persona_id: Mapped[Ref] = mapped_column(ForeignKey("personas.id"))
    album_id: Mapped[Ref | None] = mapped_column(ForeignKey("albums.id"))
    name: Mapped[Str]
    type: Mapped[Str]
    url: Mapped[Str]
    price: Mapped[Amount | None]
    currency: Mapped[Str | None]
    description: Mapped[Str]
    tags: Mapped[list[str]] = mapped_column(JSONB)
    consent: Mapped[Any | None] = mapped_column(JSONB(none_as_null=True))
    model: Mapped[Str]
    embedding: Mapped[str] = mapped_column(Vector(DIMS))
    created_at: Mapped[Stamp]
    updated_at: Mapped[Stamp]
    deleted_at: Mapped[Moment | None]

    __table_args__ = (
        CheckConstraint("type IN ('photo', 'video')", name="type"),
        CheckConstraint("(price IS NULL) = (currency IS NULL)", name="price"),
        UniqueConstraint("org_id", "name"),
        Index(
            "media_items_sendable",
            "persona_id",
            "price",
            postgresql_where=sql("deleted_at IS NULL AND consent IS NOT NULL"),
        ),
        Index("media_items_persona", "persona_id", "name", postgresql_where=sql("deleted_at IS NULL")),
        Index("media_items_album", "album_id"),
    )


class MediaFactRow(Table):
    """One media and one contact. `what`: `received` (free, the bubble left), `offered` (a link left), `bought`.

    `candidate_id` and `job_id`: the bubble that did it; a payment that no bubble of ours began has none.
    """

    __tablename__ = "media_facts"

    id: Mapped[Key]
    org_id: Mapped[Ref]
    contact_id: Mapped[Ref] = mapped_column(ForeignKey("contacts.id"))
    persona_id: Mapped[Ref]
    media_id: Mapped[Ref] = mapped_column(ForeignKey("media_items.id"))
    what: Mapped[Str]
    amount: Mapped[Amount | None]
    currency: Mapped[Str | None]
    candidate_id: Mapped[Ref | None]
    job_id: Mapped[Ref | None]
    payment_id: Mapped[Ref | None]
    at: Mapped[Stamp]

    __table_args__ = (
        CheckConstraint("what IN ('received', 'offered', 'bought')", name="what"),
        Index("media_facts_contact", "contact_id", "persona_id", "what", "at"),
        Index(
            "media_facts_bought",
            "contact_id",
            "media_id",
            unique=True,
            postgresql_where=sql("what = 'bought'"),
        ),
        Index("media_facts_candidate", "candidate_id", postgresql_where=sql("candidate_id IS NOT NULL")),
    )


class ShownMediaRow(Table):
    """What `get_media` answered in a conversation: only these may be sent there."""

    __tablename__ = "shown_media"

    conversation_id: Mapped[Ref] = mapped_column(ForeignKey("conversations.id"), primary_key=True)
    media_id: Mapped[Ref] = mapped_column(ForeignKey("media_items.id"), primary_key=True)
    at: Mapped[Stamp]

    __table_args__ = (Index("shown_media_newest", "conversation_id", "at"),)


class PaymentRow(Table):
    """A link under which a contact pays for media. At most one of an offer is open: `one_open_payment`.

    `offer`: what is sold at which price, so that the same offer made twice is one link. `candidate_id`: the bubble
    it was made for. `provider` and `reference` name it where it is paid; `url` is null until the link is made.
    `paid_reference`: what whoever told of it called it. `delivery_job_id`: brings what was paid.
    """

    __tablename__ = "payments"

    id: Mapped[Key]
    org_id: Mapped[Ref]
    persona_id: Mapped[Ref]
    contact_id: Mapped[Ref] = mapped_column(ForeignKey("contacts.id"))
    conversation_id: Mapped[Ref] = mapped_column(ForeignKey("conversations.id"))
    job_id: Mapped[Ref | None]
    candidate_id: Mapped[Ref | None]
    offer: Mapped[Str]
    media_ids: Mapped[list[int]] = mapped_column(JSONB)
    amount: Mapped[Amount]
    currency: Mapped[Str]
    state: Mapped[Str]
    provider: Mapped[Str]
    reference: Mapped[Str | None]
    url: Mapped[Str | None]
    created_at: Mapped[Stamp]
    expires_at: Mapped[Moment | None]
    paid_at: Mapped[Moment | None]
    ended_at: Mapped[Moment | None]
    paid_reference: Mapped[Str | None]
    delivery_job_id: Mapped[Ref | None]
    delivered_at: Mapped[Moment | None]

    __table_args__ = (
        CheckConstraint("state IN ('open', 'paid', 'expired', 'refunded')", name="state"),
        UniqueConstraint("provider", "reference"),
        Index("one_open_payment", "contact_id", "offer", unique=True, postgresql_where=sql("state = 'open'")),
        Index("payments_contact", "contact_id", "created_at"),
        Index("payments_candidate", "candidate_id", postgresql_where=sql("candidate_id IS NOT NULL")),
        Index(
            "payments_delivery_job",
            "delivery_job_id",
            unique=True,
            postgresql_where=sql("delivery_job_id IS NOT NULL"),
        ),
    )
