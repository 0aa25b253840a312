"""What can be looked up: documents, and passages of documents and conversations."""

from sqlalchemy import CheckConstraint, ForeignKey, Index, UniqueConstraint
from sqlalchemy import text as sql
from sqlalchemy.dialects.postgresql import TSVECTOR
from sqlalchemy.orm import Mapped, mapped_column

from schemas.tables.base import Key, Moment, Ref, Stamp, Str, Table
from schemas.tables.vectors import DIMS, Vector


class DocumentRow(Table):
    """As an organisation gave it. `persona_id`, `contact_id`: 0 is every one; `hash` is of all that was given."""

    __tablename__ = "documents"

    id: Mapped[Key]
    org_id: Mapped[Ref]
    name: Mapped[Str]
    persona_id: Mapped[Ref]
    contact_id: Mapped[Ref]
    title: Mapped[Str]
    language: Mapped[Str]
    text: Mapped[Str]
    hash: Mapped[Str]
    created_at: Mapped[Stamp]
    updated_at: Mapped[Stamp]

    __table_args__ = (
        UniqueConstraint("org_id", "name"),
        Index("documents_contact", "contact_id", postgresql_where=sql("contact_id <> 0")),
    )


class ChunkRow(Table):
    """A passage that a question can find: of a document, or a fact that a contact told in a message.

    Whom it is for stands on every row (0 is every one), so that a search is filtered where it searches. `model` made
    the vector; vectors of two models are never compared.
    """

    __tablename__ = "chunks"

    id: Mapped[Key]
    org_id: Mapped[Ref]
    persona_id: Mapped[Ref]
    contact_id: Mapped[Ref]
    document_id: Mapped[Ref | None] = mapped_column(ForeignKey("documents.id", ondelete="CASCADE"))
    message_id: Mapped[Ref | None] = mapped_column(ForeignKey("messages.id", ondelete="CASCADE"))
    said_at: Mapped[Moment | None]
    text: Mapped[Str]
    config: Mapped[Str]
    words: Mapped[str] = mapped_column(TSVECTOR)
    model: Mapped[Str]
    embedding: Mapped[str] = mapped_column(Vector(DIMS))
    created_at: Mapped[Stamp]

    __table_args__ = (
        CheckConstraint("(document_id IS NULL) <> (message_id IS NULL)", name="source"),
        Index("chunks_owner", "org_id", "contact_id", "persona_id"),
        Index("chunks_document", "document_id", postgresql_where=sql("document_id IS NOT NULL")),
        Index("chunks_message", "message_id", postgresql_where=sql("message_id IS NOT NULL")),
        Index("chunks_model", "model"),
        Index("chunks_words", "words", postgresql_using="gin"),
        Index(
            "chunks_embedding",
            "embedding",
            postgresql_using="hnsw",
            postgresql_ops={"embedding": "vector_cosine_ops"},
        ),
    )
