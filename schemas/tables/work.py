"""The work: jobs, their runs and steps, what happened to them, and what the model calls cost."""

from datetime import date, timedelta
from decimal import Decimal
from typing import Annotated

from sqlalchemy import CheckConstraint, ForeignKey, Index, Interval, Numeric, UniqueConstraint, text
from sqlalchemy.orm import Mapped, mapped_column

from schemas.tables.base import (
    IN_FLIGHT,
    LEASED,
    WAITS_FOR_CLOCK,
    Bytes,
    Count,
    Due,
    Facts,
    Flag,
    Key,
    Moment,
    Ref,
    Stamp,
    Str,
    Table,
)

Usd = Annotated[Decimal, mapped_column(Numeric(16, 10))]

LIVE = "('queued', 'running', 'held', 'sending')"


class JobRow(Due, Table):
    """One reply to be made. At most one of a conversation is live: `one_live_reply`.

    `inbound_seq`: what it answers. `pinned`: it stands, whatever comes in. `restarts`, `supersedes`: how often the
    contact overtook it. `tries`: failed model calls. `rest`: what is left of a countdown on hold. `claims`: shown as
    attempts. `attention`: `open` or `dismissed`. `rules`: what became of the strategy's rules in the run that decided.
    `control_window`: seconds, where the strategy set them. `quota_month`: it holds a place of the plan's in that month.
    `ending`: a silence that waits for an approval, instead of bubbles.
    """

    __tablename__ = "jobs"

    id: Mapped[Key]
    conversation_id: Mapped[Ref] = mapped_column(ForeignKey("conversations.id"))
    kind: Mapped[Str] = mapped_column(server_default=text("'reply'"))
    trigger: Mapped[Str] = mapped_column(server_default=text("'message'"))
    engine: Mapped[Str] = mapped_column(server_default=text("'v2'"))
    state: Mapped[Str]
    inbound_seq: Mapped[int]
    pinned: Mapped[Flag]
    restarts: Mapped[Count]
    supersedes: Mapped[Count]
    tries: Mapped[Count]
    claims: Mapped[Count]
    first_message_at: Mapped[Moment]
    parked_until: Mapped[Moment | None]
    on_hold: Mapped[Flag]
    rest: Mapped[timedelta | None] = mapped_column(Interval)
    code: Mapped[Str | None]
    reason: Mapped[Str | None]
    note: Mapped[Str | None]
    attention: Mapped[Str | None]
    rules: Mapped[Bytes | None]
    control_window: Mapped[float | None]
    quota_month: Mapped[date | None]
    instruction: Mapped[Str | None]
    ending: Mapped[Bytes | None]
    created_at: Mapped[Stamp]
    ended_at: Mapped[Moment | None]

    __table_args__ = (
        CheckConstraint("kind IN ('reply', 'follow_up', 'delivery')", name="kind"),
        CheckConstraint(
            "state IN ('queued', 'running', 'held', 'sending', 'sent', 'silent', 'failed', 'superseded', 'cancelled')",
            name="state",
        ),
        Index(
            "one_live_reply",
            "conversation_id",
            unique=True,
            postgresql_where=text(f"kind <> 'delivery' AND state IN {LIVE}"),
        ),
        Index("jobs_due", "queue", "org_id", "due_at", postgresql_where=WAITS_FOR_CLOCK),
        Index("jobs_due_time", "due_at", postgresql_where=WAITS_FOR_CLOCK),
        Index("jobs_in_flight", "queue", "org_id", postgresql_where=IN_FLIGHT),
        Index("jobs_leased", "lease_until", postgresql_where=LEASED),
        Index("jobs_conversation", "conversation_id", "id"),
        Index("jobs_org", "org_id", "id"),
        Index("jobs_attention", "org_id", "id", postgresql_where=text("attention = 'open'")),
        Index("jobs_window", "org_id", "id", postgresql_where=text("state IN ('held', 'sending')")),
        Index("jobs_live", "id", postgresql_where=text(f"state IN {LIVE}")),
    )


class RunRow(Table):
    """One attempt to think a reply through, over any number of claims. `outcome` null: it is open."""

    __tablename__ = "runs"

    id: Mapped[Key]
    job_id: Mapped[Ref] = mapped_column(ForeignKey("jobs.id"))
    inbound_seq: Mapped[int]
    outcome: Mapped[Str | None]
    active_seconds: Mapped[float] = mapped_column(server_default=text("0"))
    trace: Mapped[Bytes | None]
    """What the trace has beyond the steps: what was found when the run ended."""
    started_at: Mapped[Stamp]

    __table_args__ = (
        Index("runs_job", "job_id", "id"),
        Index("runs_open", "job_id", unique=True, postgresql_where=text("outcome IS NULL")),
    )


class RunStepRow(Table):
    """Appended, never rewritten."""

    __tablename__ = "run_steps"

    run_id: Mapped[Ref] = mapped_column(ForeignKey("runs.id"), primary_key=True)
    n: Mapped[int] = mapped_column(primary_key=True)
    task: Mapped[Str]
    content: Mapped[Bytes]
    trace: Mapped[Bytes]
    at: Mapped[Stamp]


class JobEventRow(Table):
    """Append-only: every transition, who made it and why."""

    __tablename__ = "job_events"

    id: Mapped[Key]
    org_id: Mapped[Ref]
    job_id: Mapped[Ref]
    conversation_id: Mapped[Ref]
    at: Mapped[Stamp]
    who: Mapped[Str]
    from_state: Mapped[Str | None]
    to_state: Mapped[Str]
    why: Mapped[Str]
    facts: Mapped[Facts | None]

    __table_args__ = (Index("job_events_job", "job_id", "id"),)


class ChoreRow(Due, Table):
    """Work in the background for one conversation, of each kind one row, for ever: `due_at` is set when there is
    something to do. `error`: why it was given up the last time."""

    __tablename__ = "chores"

    id: Mapped[Key]
    kind: Mapped[Str]
    conversation_id: Mapped[Ref] = mapped_column(ForeignKey("conversations.id", ondelete="CASCADE"))
    tries: Mapped[Count]
    error: Mapped[Str | None]

    __table_args__ = (
        UniqueConstraint("conversation_id", "kind"),
        Index("chores_due", "queue", "org_id", "due_at", postgresql_where=WAITS_FOR_CLOCK),
        Index("chores_due_time", "due_at", postgresql_where=WAITS_FOR_CLOCK),
        Index("chores_in_flight", "queue", "org_id", postgresql_where=IN_FLIGHT),
        Index("chores_leased", "lease_until", postgresql_where=LEASED),
    )


class LedgerRow(Table):
    """One HTTP attempt at a model. `state`: reserved, settled, or unknown (the answer was lost; cost = reservation).

    `discarded`: the run it was paid for was thrown away. A null cost is a model without a price. `per_usd`: the rate of
    the organisation's `currency` on `rate_dated`. `month`: where the organisation's spending is counted, when it is.
    `ttft_ms`: to the first token of a streamed call; none is, so nothing writes it.
    """

    __tablename__ = "ledger"

    call: Mapped[Str] = mapped_column(primary_key=True)
    org_id: Mapped[Ref]
    pipeline: Mapped[Str]
    task: Mapped[Str]
    conversation_id: Mapped[Ref | None]
    job_id: Mapped[Ref | None]
    run_id: Mapped[Ref | None]
    fence: Mapped[int]
    provider: Mapped[Str]
    model: Mapped[Str]
    state: Mapped[Str]
    outcome: Mapped[Str | None]
    input: Mapped[Count]
    cache_read: Mapped[Count]
    cache_write_5m: Mapped[Count]
    cache_write_1h: Mapped[Count]
    output: Mapped[Count]
    reserved_usd: Mapped[Usd | None]
    cost_usd: Mapped[Usd | None]
    eur_per_usd: Mapped[Decimal | None] = mapped_column(Numeric(12, 6))
    currency: Mapped[Str | None]
    per_usd: Mapped[Decimal | None] = mapped_column(Numeric(18, 8))
    rate_dated: Mapped[date | None]
    month: Mapped[date | None]
    latency_ms: Mapped[int | None]
    ttft_ms: Mapped[int | None]
    request_id: Mapped[Str | None]
    discarded: Mapped[Flag]
    at: Mapped[Stamp]
    settled_at: Mapped[Moment | None]

    __table_args__ = (
        CheckConstraint("state IN ('reserved', 'settled', 'unknown')", name="state"),
        Index("ledger_run", "run_id"),
        Index("ledger_job", "job_id"),
        Index(
            "ledger_aside",
            "conversation_id",
            postgresql_where=text("job_id IS NULL AND conversation_id IS NOT NULL"),
        ),
        Index("ledger_org", "org_id", "at"),
        Index("ledger_conversation", "conversation_id"),
        Index("ledger_at", "at"),
        Index("ledger_reserved", "at", postgresql_where=text("state = 'reserved' AND job_id IS NULL")),
        Index("ledger_unheard", "at", postgresql_where=text("state = 'unknown' AND outcome IS NULL")),
    )
