"""a job is counted when it ends, once

What is told of a job that has ended already (its attention was dismissed) is no other end of it. Sums that were made
before stay as they are: a counter never goes back. `runs_since` stays what it was: no release reads more than the sums.
"""

from alembic import op

revision = "0015"
down_revision = "0014"
branch_labels = None
depends_on = None

ENDED = "('sent', 'silent', 'failed', 'superseded', 'cancelled')"
COUNTED = (
    f"(NEW.to_state IN {ENDED} AND NEW.from_state IS DISTINCT FROM NEW.to_state) "
    "OR (NEW.to_state = 'sending' AND NEW.facts ->> 'due_at' IS NOT NULL)"
)


def upgrade() -> None:
    op.execute(
        "CREATE OR REPLACE TRIGGER tally_0_job_event AFTER INSERT ON job_events FOR EACH ROW "
        f"WHEN ({COUNTED}) EXECUTE FUNCTION tally_job_event()"
    )
