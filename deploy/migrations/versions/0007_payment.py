"""what was told of a payment, and the job that delivers what was paid"""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("payments", sa.Column("paid_reference", sa.Text(), nullable=True))
    op.add_column("payments", sa.Column("delivery_job_id", sa.BigInteger(), nullable=True))
    op.add_column("payments", sa.Column("delivered_at", sa.DateTime(timezone=True), nullable=True))
    op.create_index(
        "payments_delivery_job",
        "payments",
        ["delivery_job_id"],
        unique=True,
        postgresql_where=sa.text("delivery_job_id IS NOT NULL"),
    )
