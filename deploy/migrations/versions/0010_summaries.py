"""summaries of what windows cut, and how fast a persona's contacts write"""

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0008"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "summaries",
        sa.Column("conversation_id", sa.BigInteger(), nullable=False),
        sa.Column("until", sa.Integer(), nullable=False),
        sa.Column("usable_from", sa.Integer(), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column(
            "created_at", sa.DateTime(timezone=True), server_default=sa.text("clock_timestamp()"), nullable=False
        ),
        sa.ForeignKeyConstraint(
            ["conversation_id"],
            ["conversations.id"],
            name=op.f("summaries_conversation_id_fkey"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("conversation_id", "until", name=op.f("summaries_pkey")),
    )
    op.add_column("personas", sa.Column("brisk", sa.Boolean(), server_default=sa.text("false"), nullable=False))
    op.add_column("personas", sa.Column("paced_at", sa.DateTime(timezone=True), nullable=True))
    op.create_index("conversations_persona", "conversations", ["persona_id", "id"])
