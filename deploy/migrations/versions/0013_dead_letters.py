"""dead letters

The same unreadable queue message is one open letter. What happened to jobs is only ever added to: the database itself
refuses to change it, except to whoever erases a person and says so (`SET LOCAL replique.erasing = 'on'`).

`runs_since` stays what it was: releases before 0011 erase nobody.
"""

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0012"
branch_labels = None
depends_on = None

APPEND_ONLY = ("job_events", "audit_log")

_REPEATED = """
UPDATE dead_letters l SET state = 'purged'
WHERE source = 'queue' AND state = 'open' AND EXISTS (
  SELECT 1 FROM dead_letters n WHERE n.source = 'queue' AND n.state = 'open' AND n.id > l.id AND n.payload = l.payload)
"""
_REFUSE = """
CREATE FUNCTION refuse_rewriting() RETURNS trigger LANGUAGE plpgsql AS $refuse$
BEGIN
  IF current_setting('replique.erasing', true) IS DISTINCT FROM 'on' THEN
    RAISE EXCEPTION '% is only ever added to', TG_TABLE_NAME USING ERRCODE = 'restrict_violation';
  END IF;
  RETURN NULL;
END$refuse$
"""


def upgrade() -> None:
    op.execute(_REPEATED)
    op.create_index("dead_letters_state", "dead_letters", ["state", "id"])
    op.create_index(
        "dead_letters_message",
        "dead_letters",
        [sa.text("md5(payload::text)")],
        unique=True,
        postgresql_where=sa.text("source = 'queue' AND state = 'open'"),
    )
    op.execute(_REFUSE)
    for table in APPEND_ONLY:
        op.execute(
            f"CREATE TRIGGER only_added_to BEFORE UPDATE OR DELETE OR TRUNCATE ON {table} "
            "FOR EACH STATEMENT EXECUTE FUNCTION refuse_rewriting()"
        )
