"""the iterations of a run are counted on the stronger route too

The function that counts is replaced by one that also counts calls of task `reply_strong`, which no worker of an earlier
version makes. `runs_since` stays what it was: to earlier releases it counts as before.
"""

from alembic import op

revision = "0016"
down_revision = "0015"
branch_labels = None
depends_on = None

END_OF_RUN = """
CREATE OR REPLACE FUNCTION tally_end_of_run() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO tallies (metric, labels, n, amount)
  SELECT 'run_iterations', ARRAY[count(*)::text], 1, count(*) FROM ledger
  WHERE run_id = NEW.id AND task IN ('reply', 'reply_strong') AND state = 'settled' AND outcome = 'ok'
  HAVING count(*) > 0;
  RETURN NULL;
END $$
"""


def upgrade() -> None:
    op.execute(END_OF_RUN)
