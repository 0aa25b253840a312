"""documents, passages that a question finds, chores"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

from schemas.tables.memory import Vector

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None

DIMS = 512


def upgrade() -> None:
    # On a managed server it may take another role than ours to create it; then it is there already.
    op.execute("CREATE EXTENSION IF NOT EXISTS vector")
    _documents()
    _chunks()
    _chores()
    op.add_column("conversations", sa.Column("learned_until", sa.DateTime(timezone=True), nullable=True))


def _documents() -> None:
    op.create_table(
        "documents",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("org_id", sa.BigInteger(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("persona_id", sa.BigInteger(), nullable=False),
        sa.Column("contact_id", sa.BigInteger(), nullable=False),
        sa.Column("title", sa.Text(), nullable=False),
        sa.Column("language", sa.Text(), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("hash", sa.Text(), nullable=False),
        sa.Column(
            "created_at", sa.DateTime(timezone=True), server_default=sa.text("clock_timestamp()"), nullable=False
        ),
        sa.Column(
            "updated_at", sa.DateTime(timezone=True), server_default=sa.text("clock_timestamp()"), nullable=False
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("documents_pkey")),
        sa.UniqueConstraint("org_id", "name", name=op.f("documents_org_id_name_key")),
    )
    op.create_index(
        "documents_contact",
        "documents",
        ["contact_id"],
        unique=False,
        postgresql_where=sa.text("contact_id <> 0"),
    )


def _chunks() -> None:
    op.create_table(
        "chunks",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("org_id", sa.BigInteger(), nullable=False),
        sa.Column("persona_id", sa.BigInteger(), nullable=False),
        sa.Column("contact_id", sa.BigInteger(), nullable=False),
        sa.Column("document_id", sa.BigInteger(), nullable=True),
        sa.Column("message_id", sa.BigInteger(), nullable=True),
        sa.Column("said_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("config", sa.Text(), nullable=False),
        sa.Column("words", postgresql.TSVECTOR(), nullable=False),
        sa.Column("model", sa.Text(), nullable=False),
        sa.Column("embedding", Vector(DIMS), nullable=False),
        sa.Column(
            "created_at", sa.DateTime(timezone=True), server_default=sa.text("clock_timestamp()"), nullable=False
        ),
        sa.CheckConstraint("(document_id IS NULL) <> (message_id IS NULL)", name=op.f("chunks_source_check")),
        sa.ForeignKeyConstraint(
            ["document_id"], ["documents.id"], name=op.f("chunks_document_id_fkey"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["message_id"], ["messages.id"], name=op.f("chunks_message_id_fkey"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("chunks_pkey")),
    )
    # Beside the row, where a search that compares a few hundred reads them ten times as quickly as from the side table.
    op.execute("ALTER TABLE chunks ALTER COLUMN embedding SET STORAGE PLAIN")
    op.create_index("chunks_owner", "chunks", ["org_id", "contact_id", "persona_id"], unique=False)
    for column in ("document", "message"):
        op.create_index(
            f"chunks_{column}",
            "chunks",
            [f"{column}_id"],
            unique=False,
            postgresql_where=sa.text(f"{column}_id IS NOT NULL"),
        )
    op.create_index("chunks_model", "chunks", ["model"], unique=False)
    op.create_index("chunks_words", "chunks", ["words"], unique=False, postgresql_using="gin")
    op.create_index(
        "chunks_embedding",
        "chunks",
        ["embedding"],
        unique=False,
        postgresql_using="hnsw",
        postgresql_ops={"embedding": "vector_cosine_ops"},
    )


def _chores() -> None:
    op.create_table(
        "chores",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("conversation_id", sa.BigInteger(), nullable=False),
        sa.Column("tries", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("error", sa.Text(), nullable=True),
        sa.Column("org_id", sa.BigInteger(), nullable=False),
        sa.Column("queue", sa.Text(), nullable=False),
        sa.Column("due_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("dispatched_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("fence", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("lease_until", sa.DateTime(timezone=True), nullable=True),
        sa.Column("leased_by", sa.Text(), nullable=True),
        sa.Column("crashes", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.ForeignKeyConstraint(
            ["conversation_id"], ["conversations.id"], name=op.f("chores_conversation_id_fkey"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("chores_pkey")),
        sa.UniqueConstraint("conversation_id", "kind", name=op.f("chores_conversation_id_kind_key")),
    )
    waits = sa.text("dispatched_at IS NULL AND lease_until IS NULL AND due_at IS NOT NULL")
    op.create_index("chores_due", "chores", ["queue", "org_id", "due_at"], unique=False, postgresql_where=waits)
    op.create_index("chores_due_time", "chores", ["due_at"], unique=False, postgresql_where=waits)
    op.create_index(
        "chores_in_flight",
        "chores",
        ["queue", "org_id"],
        unique=False,
        postgresql_where=sa.text("dispatched_at IS NOT NULL OR lease_until IS NOT NULL"),
    )
    op.create_index(
        "chores_leased", "chores", ["lease_until"], unique=False, postgresql_where=sa.text("lease_until IS NOT NULL")
    )
