"""money

What runs may spend and how many replies a plan has: two counters for each organisation and month, kept right by
triggers whichever statement changes the ledger or a job, and the question whether one more call fits the budgets.
"""

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None

_PAID = "coalesce({row}.cost_usd, {row}.reserved_usd, 0)"
_OLD, _NEW = _PAID.format(row="OLD"), _PAID.format(row="NEW")
# Held by nobody any more, or withdrawn: there is no reply. What an operator cancelled in its window was one.
_NO_REPLY = (
    "NEW.state IN ('superseded', 'silent') OR (NEW.state IN ('failed', 'cancelled') AND "
    "(OLD.state IN ('queued', 'running') OR OLD.ending IS NOT NULL))"
)

FUNCTIONS = {
    # The row of a month that has none yet. What was paid before the organisation was metered counts from its start.
    "open_spending(of_org bigint, of_month date) RETURNS void": f"""
BEGIN
  INSERT INTO spending (org_id, month, usd)
  SELECT of_org, of_month, coalesce(sum({_PAID.format(row="l")}), 0)
  FROM organizations o LEFT JOIN ledger l ON l.org_id = o.id AND l.month IS NULL
    AND l.at >= of_month::timestamp AT TIME ZONE coalesce(o.spec ->> 'timezone', 'UTC')
  WHERE o.id = of_org
  ON CONFLICT DO NOTHING;
END""",
    # Which budget one more call would break, the narrowest first; null: none. `more` is what the call may cost and
    # what the one that is being settled did cost; what had been set aside for that one is free again. The month's row
    # stays locked, so nobody else's call gets between the question and the reservation.
    """budget_refusal(of_org bigint, of_run bigint, of_conversation bigint, of_month date, more numeric, settling text,
      per_run numeric, per_conversation numeric, per_month numeric) RETURNS text""": f"""
DECLARE
  net CONSTANT numeric := more - coalesce(
    (SELECT {_PAID.format(row="l")} FROM ledger l WHERE l.call = settling AND l.state <> 'settled'), 0);
BEGIN
  IF per_run < net + (SELECT coalesce(sum({_PAID.format(row="l")}), 0) FROM ledger l WHERE l.run_id = of_run) THEN
    RETURN 'run';
  END IF;
  IF per_conversation < net + (SELECT coalesce(sum({_PAID.format(row="l")}), 0) FROM ledger l
                               WHERE l.conversation_id = of_conversation) THEN
    RETURN 'conversation';
  END IF;
  IF per_month IS NULL THEN
    RETURN NULL;
  END IF;
  IF NOT EXISTS (SELECT 1 FROM spending WHERE org_id = of_org AND month = of_month) THEN
    PERFORM open_spending(of_org, of_month);
  END IF;
  PERFORM 1 FROM spending WHERE org_id = of_org AND month = of_month AND usd + net <= per_month FOR NO KEY UPDATE;
  RETURN CASE WHEN FOUND THEN NULL ELSE 'month' END;
END""",
    "count_spending() RETURNS trigger": f"""
DECLARE
  of_org CONSTANT bigint := CASE TG_OP WHEN 'DELETE' THEN OLD.org_id ELSE NEW.org_id END;
  of_month CONSTANT date := CASE TG_OP WHEN 'DELETE' THEN OLD.month ELSE NEW.month END;
  more CONSTANT numeric := CASE TG_OP WHEN 'INSERT' THEN {_NEW} WHEN 'DELETE' THEN - {_OLD} ELSE {_NEW} - {_OLD} END;
BEGIN
  UPDATE spending SET usd = usd + more WHERE org_id = of_org AND month = of_month;
  IF NOT FOUND THEN
    PERFORM open_spending(of_org, of_month);
    UPDATE spending SET usd = usd + more WHERE org_id = of_org AND month = of_month;
  END IF;
  RETURN NULL;
END""",
    "give_place_back() RETURNS trigger": """
BEGIN
  UPDATE quota_counts SET used = used - 1 WHERE org_id = OLD.org_id AND month = OLD.quota_month;
  NEW.quota_month := NULL;
  RETURN NEW;
END""",
    "tally_quota() RETURNS trigger": """
BEGIN
  INSERT INTO tallies (metric, labels, n)
  VALUES ('quota_exceeded', ARRAY[NEW.org_id::text, coalesce(NEW.facts ->> 'plan', '')], 1);
  RETURN NULL;
END""",
    "tally_unpriced() RETURNS trigger": """
BEGIN
  INSERT INTO tallies (metric, labels, n) VALUES ('unpriced', ARRAY[NEW.provider, NEW.model], 1);
  RETURN NULL;
END""",
}

_UNPRICED = "NEW.state = 'settled' AND NEW.cost_usd IS NULL"
TRIGGERS = {
    "spending_reserved": "AFTER INSERT ON ledger FOR EACH ROW "
    f"WHEN (NEW.month IS NOT NULL AND {_NEW} <> 0) EXECUTE FUNCTION count_spending()",
    "spending_settled": "AFTER UPDATE ON ledger FOR EACH ROW "
    f"WHEN (NEW.month IS NOT NULL AND {_NEW} <> {_OLD}) EXECUTE FUNCTION count_spending()",
    "spending_forgotten": "AFTER DELETE ON ledger FOR EACH ROW "
    f"WHEN (OLD.month IS NOT NULL AND {_OLD} <> 0) EXECUTE FUNCTION count_spending()",
    "place_given_back": "BEFORE UPDATE ON jobs FOR EACH ROW "
    f"WHEN (OLD.quota_month IS NOT NULL AND NEW.state <> OLD.state AND ({_NO_REPLY})) "
    "EXECUTE FUNCTION give_place_back()",
    "tally_quota": "AFTER INSERT ON job_events FOR EACH ROW "
    "WHEN (NEW.to_state = 'failed' AND NEW.facts ->> 'code' = 'AR-540') EXECUTE FUNCTION tally_quota()",
    "tally_unpriced_at_once": f"AFTER INSERT ON ledger FOR EACH ROW WHEN ({_UNPRICED}) "
    "EXECUTE FUNCTION tally_unpriced()",
    "tally_unpriced": f"AFTER UPDATE ON ledger FOR EACH ROW WHEN (OLD.state <> 'settled' AND {_UNPRICED}) "
    "EXECUTE FUNCTION tally_unpriced()",
}


def upgrade() -> None:
    op.add_column("jobs", sa.Column("quota_month", sa.Date(), nullable=True))
    op.add_column("ledger", sa.Column("month", sa.Date(), nullable=True))
    op.add_column("ledger", sa.Column("currency", sa.Text(), nullable=True))
    op.add_column("ledger", sa.Column("per_usd", sa.Numeric(precision=18, scale=8), nullable=True))
    op.add_column("ledger", sa.Column("rate_dated", sa.Date(), nullable=True))
    op.add_column("ledger", sa.Column("ttft_ms", sa.Integer(), nullable=True))
    op.create_index("ledger_conversation", "ledger", ["conversation_id"])
    op.create_index("ledger_at", "ledger", ["at"])
    for name, column in (
        ("spending", sa.Column("usd", sa.Numeric(), server_default=sa.text("0"), nullable=False)),
        ("quota_counts", sa.Column("used", sa.Integer(), server_default=sa.text("0"), nullable=False)),
    ):
        op.create_table(
            name,
            sa.Column("org_id", sa.BigInteger(), nullable=False),
            sa.Column("month", sa.Date(), nullable=False),
            column,
            *([sa.Column("told", sa.Integer(), nullable=True)] if name == "quota_counts" else []),
            sa.PrimaryKeyConstraint("org_id", "month", name=f"{name}_pkey"),
        )
        # A row is changed with every call: room beside it keeps the changes off the index.
        op.execute(f"ALTER TABLE {name} SET (fillfactor = 20)")
    for signature, body in FUNCTIONS.items():
        op.execute(_as_it_is(f"CREATE FUNCTION {signature} LANGUAGE plpgsql AS $money${body}$money$"))
    for name, when in TRIGGERS.items():
        op.execute(_as_it_is(f"CREATE TRIGGER {name} {when}"))


def _as_it_is(statement: str) -> sa.TextClause:
    """Colons in it are no parameters."""
    return sa.text(statement.replace(":", r"\:"))
