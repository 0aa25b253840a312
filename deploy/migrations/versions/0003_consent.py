"""consent records, and since when what a contact said closes nothing again"""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("contacts", sa.Column("cleared_at", sa.DateTime(timezone=True), nullable=True))
    op.create_table(
        "consent_records",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("org_id", sa.BigInteger(), nullable=False),
        sa.Column("contact_id", sa.BigInteger(), nullable=False),
        sa.Column("conversation_id", sa.BigInteger(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), server_default=sa.text("clock_timestamp()"), nullable=False),
        sa.Column("act", sa.Text(), nullable=False),
        sa.Column("who", sa.Text(), nullable=False),
        sa.Column("rule", sa.Text(), nullable=True),
        sa.Column("reason", sa.Text(), nullable=True),
        sa.Column("message", sa.Text(), nullable=True),
        sa.Column("job_id", sa.BigInteger(), nullable=True),
        sa.CheckConstraint(
            "act IN ('opted_out', 'opted_in', 'locked', 'reopening', 'reopened')",
            name=op.f("consent_records_act_check"),
        ),
        sa.ForeignKeyConstraint(["contact_id"], ["contacts.id"], name=op.f("consent_records_contact_id_fkey")),
        sa.ForeignKeyConstraint(
            ["conversation_id"], ["conversations.id"], name=op.f("consent_records_conversation_id_fkey")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("consent_records_pkey")),
    )
    op.create_index(op.f("consent_records_contact_id_id"), "consent_records", ["contact_id", "id"], unique=False)
