"""erasure and retention; which release still runs on this schema

Statistics are switched off for columns of free text: nothing is looked up by them, and the samples that the planner
keeps would hold words of people who were erased.
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None

WORDS = (
    ("audit_log", "facts"),
    ("audit_log", "subject"),
    ("candidates", "text"),
    ("chunks", "text"),
    ("chunks", "words"),
    ("consent_records", "reason"),
    ("contacts", "display_name"),
    ("contacts", "profile"),
    ("conversations", "plan"),
    ("dead_letters", "error"),
    ("dead_letters", "payload"),
    ("deliveries", "body"),
    ("deliveries", "error"),
    ("documents", "text"),
    ("documents", "title"),
    ("job_events", "facts"),
    ("jobs", "instruction"),
    ("jobs", "note"),
    ("messages", "text"),
    ("summaries", "text"),
)

NOW = sa.text("clock_timestamp()")
MOMENT = sa.DateTime(timezone=True)


def upgrade() -> None:
    # Code of an older release asks here whether it may run on a schema that it does not know.
    op.add_column("installation", sa.Column("runs_since", sa.Text(), server_default=sa.text("'0010'"), nullable=False))
    op.create_table(
        "erasures",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("org_id", sa.BigInteger(), nullable=False),
        sa.Column("subject", sa.Text(), nullable=False),
        sa.Column("contact_id", sa.BigInteger(), nullable=False),
        sa.Column("who", sa.Text(), nullable=False),
        sa.Column("locked", sa.Boolean(), nullable=False),
        sa.Column("receipt", postgresql.JSONB(astext_type=sa.Text()), server_default=sa.text("'{}'"), nullable=False),
        sa.Column("error", sa.Text(), nullable=True),
        sa.Column("due_at", MOMENT, nullable=True),
        sa.Column("asked_at", MOMENT, server_default=NOW, nullable=False),
        sa.Column("finished_at", MOMENT, nullable=True),
        sa.PrimaryKeyConstraint("id", name="erasures_pkey"),
    )
    op.create_index("erasures_subject", "erasures", ["org_id", "subject", "id"])
    op.create_index("erasures_due", "erasures", ["due_at"], postgresql_where=sa.text("due_at IS NOT NULL"))
    op.create_table(
        "doomed_files",
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("erasure_id", sa.BigInteger(), nullable=True),
        sa.Column("due_at", MOMENT, server_default=NOW, nullable=False),
        sa.PrimaryKeyConstraint("key", name="doomed_files_pkey"),
    )
    op.create_index("doomed_files_due", "doomed_files", ["due_at"])
    op.create_index("doomed_files_erasure", "doomed_files", ["erasure_id"])
    op.create_table(
        "retention_passes",
        sa.Column("org_id", sa.BigInteger(), nullable=False),
        sa.Column("after", sa.Text(), server_default=sa.text("''"), nullable=False),
        sa.Column("due_at", MOMENT, server_default=NOW, nullable=False),
        sa.Column("erased", postgresql.JSONB(astext_type=sa.Text()), server_default=sa.text("'{}'"), nullable=False),
        sa.ForeignKeyConstraint(["org_id"], ["organizations.id"], name="retention_passes_org_id_fkey"),
        sa.PrimaryKeyConstraint("org_id", name="retention_passes_pkey"),
    )
    op.create_index(
        "deliveries_events", "deliveries", ["conversation_id"], postgresql_where=sa.text("candidate_id IS NULL")
    )
    op.create_index(
        "ledger_aside",
        "ledger",
        ["conversation_id"],
        postgresql_where=sa.text("job_id IS NULL AND conversation_id IS NOT NULL"),
    )
    op.create_index(
        "candidates_audio",
        "candidates",
        [sa.text("(audio ->> 'key')")],
        postgresql_where=sa.text("audio IS NOT NULL"),
    )
    op.create_index("audit_log_subject", "audit_log", ["org_id", "subject"])
    op.create_index(
        "dead_letters_delivery",
        "dead_letters",
        ["delivery_id"],
        postgresql_where=sa.text("job_id IS NULL AND delivery_id IS NOT NULL"),
    )
    for table, column in WORDS:
        op.execute(f"ALTER TABLE {table} ALTER COLUMN {column} SET STATISTICS 0")
