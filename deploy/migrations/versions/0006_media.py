"""albums and media, what each contact had of them, payments"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

from schemas.tables.vectors import Vector

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    # On a managed server it may take another role than ours to create it; then it is there already.
    op.execute("CREATE EXTENSION IF NOT EXISTS vector")
    _albums()
    _media_items()
    _media_facts()
    _shown_media()
    _payments()


def _albums() -> None:
    op.create_table(
        "albums",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("org_id", sa.BigInteger(), nullable=False),
        sa.Column("persona_id", sa.BigInteger(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("title", sa.Text(), nullable=False),
        sa.Column(
            "created_at", sa.DateTime(timezone=True), server_default=sa.text("clock_timestamp()"), nullable=False
        ),
        sa.Column(
            "updated_at", sa.DateTime(timezone=True), server_default=sa.text("clock_timestamp()"), nullable=False
        ),
        sa.ForeignKeyConstraint(["persona_id"], ["personas.id"], name=op.f("albums_persona_id_fkey")),
        sa.PrimaryKeyConstraint("id", name=op.f("albums_pkey")),
        sa.UniqueConstraint("org_id", "name", name=op.f("albums_org_id_name_key")),
    )


def _media_items() -> None:
    op.create_table(
        "media_items",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("org_id", sa.BigInteger(), nullable=False),
        sa.Column("persona_id", sa.BigInteger(), nullable=False),
        sa.Column("album_id", sa.BigInteger(), nullable=True),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("type", sa.Text(), nullable=False),
        sa.Column("url", sa.Text(), nullable=False),
        sa.Column("price", sa.Numeric(precision=14, scale=4), nullable=True),
        sa.Column("currency", sa.Text(), nullable=True),
        sa.Column("description", sa.Text(), nullable=False),
        sa.Column("tags", postgresql.JSONB(astext_type=sa.Text()), nullable=False),
        sa.Column("consent", postgresql.JSONB(none_as_null=True, astext_type=sa.Text()), nullable=True),
        sa.Column("model", sa.Text(), nullable=False),
        sa.Column("embedding", Vector(512), nullable=False),
        sa.Column(
            "created_at", sa.DateTime(timezone=True), server_default=sa.text("clock_timestamp()"), nullable=False
        ),
        sa.Column(
            "updated_at", sa.DateTime(timezone=True), server_default=sa.text("clock_timestamp()"), nullable=False
        ),
        sa.Column("deleted_at", sa.DateTime(timezone=True), nullable=True),
        sa.CheckConstraint("type IN ('photo', 'video')", name=op.f("media_items_type_check")),
        sa.CheckConstraint("(price IS NULL) = (currency IS NULL)", name=op.f("media_items_price_check")),
        sa.ForeignKeyConstraint(["album_id"], ["albums.id"], name=op.f("media_items_album_id_fkey")),
        sa.ForeignKeyConstraint(["persona_id"], ["personas.id"], name=op.f("media_items_persona_id_fkey")),
        sa.PrimaryKeyConstraint("id", name=op.f("media_items_pkey")),
        sa.UniqueConstraint("org_id", "name", name=op.f("media_items_org_id_name_key")),
    )
    op.create_index("media_items_album", "media_items", ["album_id"], unique=False)
    op.create_index(
        "media_items_sendable",
        "media_items",
        ["persona_id", "price"],
        unique=False,
        postgresql_where=sa.text("deleted_at IS NULL AND consent IS NOT NULL"),
    )


def _media_facts() -> None:
    op.create_table(
        "media_facts",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("org_id", sa.BigInteger(), nullable=False),
        sa.Column("contact_id", sa.BigInteger(), nullable=False),
        sa.Column("persona_id", sa.BigInteger(), nullable=False),
        sa.Column("media_id", sa.BigInteger(), nullable=False),
        sa.Column("what", sa.Text(), nullable=False),
        sa.Column("amount", sa.Numeric(precision=14, scale=4), nullable=True),
        sa.Column("currency", sa.Text(), nullable=True),
        sa.Column("candidate_id", sa.BigInteger(), nullable=True),
        sa.Column("job_id", sa.BigInteger(), nullable=True),
        sa.Column("payment_id", sa.BigInteger(), nullable=True),
        sa.Column("at", sa.DateTime(timezone=True), server_default=sa.text("clock_timestamp()"), nullable=False),
        sa.CheckConstraint("what IN ('received', 'offered', 'bought')", name=op.f("media_facts_what_check")),
        sa.ForeignKeyConstraint(["contact_id"], ["contacts.id"], name=op.f("media_facts_contact_id_fkey")),
        sa.ForeignKeyConstraint(["media_id"], ["media_items.id"], name=op.f("media_facts_media_id_fkey")),
        sa.PrimaryKeyConstraint("id", name=op.f("media_facts_pkey")),
    )
    op.create_index(
        "media_facts_bought",
        "media_facts",
        ["contact_id", "media_id"],
        unique=True,
        postgresql_where=sa.text("what = 'bought'"),
    )
    op.create_index(
        "media_facts_candidate",
        "media_facts",
        ["candidate_id"],
        unique=False,
        postgresql_where=sa.text("candidate_id IS NOT NULL"),
    )
    op.create_index("media_facts_contact", "media_facts", ["contact_id", "persona_id", "what", "at"], unique=False)


def _shown_media() -> None:
    op.create_table(
        "shown_media",
        sa.Column("conversation_id", sa.BigInteger(), nullable=False),
        sa.Column("media_id", sa.BigInteger(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), server_default=sa.text("clock_timestamp()"), nullable=False),
        sa.ForeignKeyConstraint(
            ["conversation_id"], ["conversations.id"], name=op.f("shown_media_conversation_id_fkey")
        ),
        sa.ForeignKeyConstraint(["media_id"], ["media_items.id"], name=op.f("shown_media_media_id_fkey")),
        sa.PrimaryKeyConstraint("conversation_id", "media_id", name=op.f("shown_media_pkey")),
    )
    op.create_index("shown_media_newest", "shown_media", ["conversation_id", "at"], unique=False)


def _payments() -> None:
    op.create_table(
        "payments",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("org_id", sa.BigInteger(), nullable=False),
        sa.Column("persona_id", sa.BigInteger(), nullable=False),
        sa.Column("contact_id", sa.BigInteger(), nullable=False),
        sa.Column("conversation_id", sa.BigInteger(), nullable=False),
        sa.Column("job_id", sa.BigInteger(), nullable=True),
        sa.Column("candidate_id", sa.BigInteger(), nullable=True),
        sa.Column("offer", sa.Text(), nullable=False),
        sa.Column("media_ids", postgresql.JSONB(astext_type=sa.Text()), nullable=False),
        sa.Column("amount", sa.Numeric(precision=14, scale=4), nullable=False),
        sa.Column("currency", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("provider", sa.Text(), nullable=False),
        sa.Column("reference", sa.Text(), nullable=True),
        sa.Column("url", sa.Text(), nullable=True),
        sa.Column(
            "created_at", sa.DateTime(timezone=True), server_default=sa.text("clock_timestamp()"), nullable=False
        ),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("paid_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("ended_at", sa.DateTime(timezone=True), nullable=True),
        sa.CheckConstraint("state IN ('open', 'paid', 'expired', 'refunded')", name=op.f("payments_state_check")),
        sa.ForeignKeyConstraint(["contact_id"], ["contacts.id"], name=op.f("payments_contact_id_fkey")),
        sa.ForeignKeyConstraint(["conversation_id"], ["conversations.id"], name=op.f("payments_conversation_id_fkey")),
        sa.PrimaryKeyConstraint("id", name=op.f("payments_pkey")),
        sa.UniqueConstraint("provider", "reference", name=op.f("payments_provider_reference_key")),
    )
    op.create_index(
        "one_open_payment", "payments", ["contact_id", "offer"], unique=True, postgresql_where=sa.text("state = 'open'")
    )
    op.create_index(
        "payments_candidate",
        "payments",
        ["candidate_id"],
        unique=False,
        postgresql_where=sa.text("candidate_id IS NOT NULL"),
    )
    op.create_index("payments_contact", "payments", ["contact_id", "created_at"], unique=False)
