"""running totals

Triggers count, in the transaction that makes the change and whichever version of the code makes it. What happened
before is summed up here, once; until that is committed, nobody writes to the counted tables.
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

ENDED = "('sent', 'silent', 'failed', 'superseded', 'cancelled')"

_SECONDS = "ARRAY[1, 2.5, 5, 10, 30, 60, 120, 300, 900, 3600, 86400]::float8[]"
LATENESS = "ARRAY[0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 15, 60, 300]::float8[]"

ENDED = "('sent', 'silent', 'failed', 'superseded', 'cancelled')"

JOB_SECONDS = "1, 2.5, 5, 10, 30, 60, 120, 300, 900, 3600, 86400"
LATENESS = "0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 15, 60, 300"


def _bucket(value: str, bounds: str) -> str:
    """The upper bound of the bucket that a number belongs to, as text."""
    names = f"(ARRAY[{bounds}, NULL]::text[])"
    return f"coalesce({names}[width_bucket({value}, ARRAY[{bounds}]::float8[]) + 1], '+Inf')"


_SECONDS = "extract(epoch FROM e.at - j.created_at)::float8"
_ENDED = f"""
SELECT 'jobs', ARRAY[coalesce(p.spec ->> 'pipeline', o.spec ->> 'pipeline', 'autoreply'), e.to_state,
                     coalesce(e.facts ->> 'code', ''), {_bucket(_SECONDS, JOB_SECONDS)}], {{n}}, {{amount}}
FROM {{events}} JOIN jobs j ON j.id = e.job_id JOIN conversations c ON c.id = j.conversation_id
     JOIN personas p ON p.id = c.persona_id JOIN organizations o ON o.id = j.org_id
"""
_LATE = "greatest(extract(epoch FROM {e}.at - ({e}.facts ->> 'due_at')::timestamptz)::float8, 0)"

# Calls nobody has heard the end of (`unknown` without an outcome) are read from the ledger, once they are old enough.
_HEARD = "{row}.state = 'settled' OR ({row}.state = 'unknown' AND {row}.outcome IS NOT NULL)"
_CALL = "ARRAY[{row}.org_id::text, {row}.pipeline, {row}.provider, {row}.model, {outcome}]"

_TOOLS = """
SELECT 'tool_calls', ARRAY[CASE WHEN {unknown} THEN 'unknown' ELSE t.item ->> 'tool' END,
                           CASE t.item ->> 'refused' WHEN 'true' THEN 'refused' ELSE 'ok' END], count(*)
FROM {items} WHERE t.item ->> 'kind' = 'tool' AND t.place > {after} GROUP BY 2
"""
_NEW_ITEMS = "json_array_elements(NEW.trace) WITH ORDINALITY AS t (item, place)"
# What a model calls a tool that does not exist is its own invention: no label is made of it.
_UNKNOWN = "t.item ->> 'unknown' = 'true'"
_HAS_TOOLS = """json_typeof(NEW.trace) = 'array' AND NEW.trace::text ~ '"kind" ?: ?"tool"'"""

FUNCTIONS = {
    "job_event": f"""
BEGIN
  IF NEW.to_state = 'sending' THEN
    INSERT INTO tallies (metric, labels, n, amount)
    SELECT 'send_lateness', ARRAY[{_bucket("late", LATENESS)}], 1, late
    FROM (SELECT {_LATE.format(e="NEW")} AS late) AS one;
  ELSE
    INSERT INTO tallies (metric, labels, n, amount)
    {_ENDED.format(n="1", amount=_SECONDS, events="(SELECT NEW.*) AS e")};
  END IF;
  RETURN NULL;
END""",
    "audit": """
BEGIN
  INSERT INTO tallies (metric, labels, n) VALUES ('audit', ARRAY[NEW.action], 1);
  RETURN NULL;
END""",
    "bubble": """
BEGIN
  INSERT INTO tallies (metric, labels, n) VALUES ('candidates', ARRAY[NEW.kind, NEW.state], 1);
  RETURN NULL;
END""",
    # An attempt is over when its delivery is not posting any more, or is posting the next one.
    "delivery": """
BEGIN
  INSERT INTO tallies (metric, labels, n)
  VALUES ('webhook_attempts', ARRAY[CASE NEW.state WHEN 'accepted' THEN 'accepted' ELSE 'not_accepted' END], 1);
  RETURN NULL;
END""",
    "call": f"""
BEGIN
  INSERT INTO tallies (metric, labels, n, input, cache_read, cache_write, output, usd, eur)
  VALUES ('ai_calls', {_CALL.format(row="NEW", outcome="coalesce(NEW.outcome, NEW.state)")}, 1, NEW.input,
          NEW.cache_read, NEW.cache_write_5m + NEW.cache_write_1h, NEW.output, coalesce(NEW.cost_usd, 0),
          coalesce(NEW.cost_usd * NEW.eur_per_usd, 0));
  RETURN NULL;
END""",
    # One that was shown as unknown stays so, at its reservation: what came late adds its tokens, and what it cost more.
    "late_call": f"""
DECLARE
  shown CONSTANT boolean := OLD.at < clock_timestamp() - interval '15 minutes';
  before CONSTANT numeric := CASE WHEN shown THEN coalesce(OLD.cost_usd, 0) ELSE 0 END;
  more CONSTANT numeric := greatest(coalesce(NEW.cost_usd, 0) - before, 0);
BEGIN
  IF shown THEN
    INSERT INTO tallies (metric, labels, n, usd, eur)
    VALUES ('ai_calls', {_CALL.format(row="OLD", outcome="'unknown'")}, 1, before,
            before * coalesce(OLD.eur_per_usd, 0));
  END IF;
  INSERT INTO tallies (metric, labels, n, input, cache_read, cache_write, output, usd, eur)
  VALUES ('ai_calls', {_CALL.format(row="NEW", outcome="coalesce(NEW.outcome, NEW.state)")},
          CASE WHEN shown THEN 0 ELSE 1 END, NEW.input, NEW.cache_read, NEW.cache_write_5m + NEW.cache_write_1h,
          NEW.output, more, more * coalesce(NEW.eur_per_usd, 0));
  RETURN NULL;
END""",
    "step": f"""
BEGIN
  INSERT INTO tallies (metric, labels, n)
  {_TOOLS.format(items=_NEW_ITEMS, unknown=_UNKNOWN, after="0")};
  RETURN NULL;
END""",
    "end_of_run": """
BEGIN
  INSERT INTO tallies (metric, labels, n, amount)
  SELECT 'run_iterations', ARRAY[count(*)::text], 1, count(*) FROM ledger
  WHERE run_id = NEW.id AND task = 'reply' AND state = 'settled' AND outcome = 'ok' HAVING count(*) > 0;
  RETURN NULL;
END""",
    # A trace only grows: what it had before is counted.
    "trace_of_run": f"""
BEGIN
  INSERT INTO tallies (metric, labels, n)
  {_TOOLS.format(items=_NEW_ITEMS, unknown=_UNKNOWN, after="coalesce(json_array_length(OLD.trace), 0)")};
  RETURN NULL;
END""",
}

# (function, when). What most changes do not meet is asked here: calling a function costs as much as writing a row.
TRIGGERS = (
    (
        "job_event",
        "AFTER INSERT ON job_events FOR EACH ROW WHEN "
        f"(NEW.to_state IN {ENDED} OR (NEW.to_state = 'sending' AND NEW.facts ->> 'due_at' IS NOT NULL))",
    ),
    ("audit", "AFTER INSERT ON audit_log FOR EACH ROW"),
    (
        "bubble",
        "AFTER UPDATE ON candidates FOR EACH ROW WHEN "
        "(NEW.state <> OLD.state AND NEW.state IN ('sent', 'dropped', 'recalled', 'failed'))",
    ),
    (
        "delivery",
        "AFTER UPDATE ON deliveries FOR EACH ROW WHEN "
        "(OLD.state = 'posting' AND (NEW.state <> 'posting' OR NEW.attempts > OLD.attempts))",
    ),
    ("step", f"AFTER INSERT ON run_steps FOR EACH ROW WHEN ({_HAS_TOOLS})"),
    ("trace_of_run", f"AFTER UPDATE OF trace ON runs FOR EACH ROW WHEN ({_HAS_TOOLS})"),
    (
        "end_of_run",
        "AFTER UPDATE ON runs FOR EACH ROW WHEN (OLD.outcome IS NULL AND NEW.outcome IN ('decided', 'failed'))",
    ),
    ("call", f"AFTER INSERT ON ledger FOR EACH ROW WHEN ({_HEARD.format(row='NEW')})"),
    ("call", f"AFTER UPDATE ON ledger FOR EACH ROW WHEN (OLD.state = 'reserved' AND ({_HEARD.format(row='NEW')}))"),
    (
        "late_call",
        "AFTER UPDATE ON ledger FOR EACH ROW WHEN "
        f"(OLD.state = 'unknown' AND OLD.outcome IS NULL AND ({_HEARD.format(row='NEW')}))",
    ),
)

_SUMMED = "SELECT metric, labels, sum(n), sum(amount) FROM ({each}) AS each (metric, labels, n, amount) GROUP BY 1, 2"
PAST = (
    "INSERT INTO totals (metric, labels, n, amount) "
    + _SUMMED.format(
        each=_ENDED.format(n="1", amount=_SECONDS, events="job_events e") + f" WHERE e.to_state IN {ENDED}"
    ),
    "INSERT INTO totals (metric, labels, n, amount) "
    + _SUMMED.format(
        each=f"SELECT 'send_lateness', ARRAY[{_bucket('late', LATENESS)}], 1, late "
        f"FROM (SELECT {_LATE.format(e='e')} AS late FROM job_events e "
        "WHERE e.to_state = 'sending' AND e.facts ->> 'due_at' IS NOT NULL) AS one"
    ),
    "INSERT INTO totals (metric, labels, n) SELECT 'audit', ARRAY[action], count(*) FROM audit_log GROUP BY action",
    "INSERT INTO totals (metric, labels, n) SELECT 'candidates', ARRAY[kind, state], count(*) FROM candidates "
    "WHERE state IN ('sent', 'dropped', 'recalled', 'failed') GROUP BY kind, state",
    "INSERT INTO totals (metric, labels, n) SELECT 'webhook_attempts', ARRAY[outcome], n FROM ("
    "SELECT count(*) FILTER (WHERE state = 'accepted') AS accepted, coalesce(sum(attempts), 0) "
    "- count(*) FILTER (WHERE state IN ('accepted', 'posting')) AS not_accepted FROM deliveries) AS sums, "
    "LATERAL (VALUES ('accepted', accepted), ('not_accepted', not_accepted)) AS each (outcome, n) WHERE n > 0",
    "INSERT INTO totals (metric, labels, n, input, cache_read, cache_write, output, usd, eur) "
    f"SELECT 'ai_calls', {_CALL.format(row='l', outcome='coalesce(l.outcome, l.state)')}, count(*), sum(input), "
    "sum(cache_read), sum(cache_write_5m + cache_write_1h), sum(output), coalesce(sum(cost_usd), 0), "
    f"coalesce(sum(cost_usd * eur_per_usd), 0) FROM ledger l WHERE {_HEARD.format(row='l')} GROUP BY 2",
    "INSERT INTO totals (metric, labels, n, amount) SELECT 'run_iterations', ARRAY[n::text], count(*), n * count(*) "
    "FROM (SELECT count(*) AS n FROM ledger l JOIN runs r ON r.id = l.run_id AND r.outcome IN ('decided', 'failed') "
    "WHERE l.task = 'reply' AND l.state = 'settled' AND l.outcome = 'ok' GROUP BY l.run_id) AS each GROUP BY n",
    "INSERT INTO totals (metric, labels, n) "
    + _TOOLS.format(
        items="(SELECT trace FROM run_steps UNION ALL SELECT trace FROM runs) AS traces, "
        "json_array_elements(CASE json_typeof(trace) WHEN 'array' THEN trace END) WITH ORDINALITY AS t (item, place)",
        unknown="starts_with(t.item ->> 'reason', 'There is no tool ')",
        after="0",
    ),
)


def _sums() -> list[sa.Column[int]]:
    zero = sa.text("0")
    return [
        sa.Column("n", sa.BigInteger(), server_default=zero, nullable=False),
        sa.Column("amount", sa.Double(), server_default=zero, nullable=False),
        sa.Column("input", sa.BigInteger(), server_default=zero, nullable=False),
        sa.Column("cache_read", sa.BigInteger(), server_default=zero, nullable=False),
        sa.Column("cache_write", sa.BigInteger(), server_default=zero, nullable=False),
        sa.Column("output", sa.BigInteger(), server_default=zero, nullable=False),
        sa.Column("usd", sa.Numeric(), server_default=zero, nullable=False),
        sa.Column("eur", sa.Numeric(), server_default=zero, nullable=False),
    ]


def _as_it_is(statement: str) -> sa.TextClause:
    """Colons in it are no parameters."""
    return sa.text(statement.replace(":", r"\:"))


def upgrade() -> None:
    labels = postgresql.ARRAY(sa.Text())
    for name, keys in (("totals", [sa.PrimaryKeyConstraint("metric", "labels", name="totals_pkey")]), ("tallies", [])):
        op.create_table(
            name,
            sa.Column("metric", sa.Text(), nullable=False),
            sa.Column("labels", labels, nullable=False),
            *_sums(),
            *keys,
        )
    # Emptied every few seconds: what is left of deleted rows is read by every scrape.
    op.execute("ALTER TABLE tallies SET (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000)")
    op.create_index(
        "ledger_unheard",
        "ledger",
        ["at"],
        postgresql_where=sa.text("state = 'unknown' AND outcome IS NULL"),
    )
    for name, body in FUNCTIONS.items():
        op.execute(
            _as_it_is(f"CREATE FUNCTION tally_{name}() RETURNS trigger LANGUAGE plpgsql AS $tally${body}$tally$")
        )
    for number, (name, when) in enumerate(TRIGGERS):
        op.execute(_as_it_is(f"CREATE TRIGGER tally_{number}_{name} {when} EXECUTE FUNCTION tally_{name}()"))
    for statement in PAST:
        op.execute(_as_it_is(statement))
