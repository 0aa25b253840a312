"""calls of no job

Those that were cut off are found by the clock. A reply's calls have a job, and pay nothing for this index.
"""

import sqlalchemy as sa
from alembic import op

revision = "0014"
down_revision = "0013"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_index(
        "ledger_reserved", "ledger", ["at"], postgresql_where=sa.text("state = 'reserved' AND job_id IS NULL")
    )
