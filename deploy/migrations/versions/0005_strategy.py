"""strategy"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None


def upgrade() -> None:
    for table in ("rules", "intents"):
        op.create_table(
            table,
            sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
            sa.Column("org_id", sa.BigInteger(), nullable=False),
            sa.Column("name", sa.Text(), nullable=False),
            sa.Column("spec", postgresql.JSONB(astext_type=sa.Text()), nullable=False),
            sa.Column(
                "updated_at", sa.DateTime(timezone=True), server_default=sa.text("clock_timestamp()"), nullable=False
            ),
            sa.PrimaryKeyConstraint("id", name=op.f(f"{table}_pkey")),
            sa.UniqueConstraint("org_id", "name", name=op.f(f"{table}_org_id_name_key")),
        )
    op.add_column(
        "organizations", sa.Column("strategy_version", sa.Integer(), server_default=sa.text("0"), nullable=False)
    )
    op.add_column("jobs", sa.Column("rules", postgresql.JSON(astext_type=sa.Text()), nullable=True))
    op.add_column("jobs", sa.Column("control_window", sa.Float(), nullable=True))
