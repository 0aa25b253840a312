"""What goes out: candidates, the webhook outbox, and what was given up."""

from sqlalchemy import CheckConstraint, ForeignKey, Index, UniqueConstraint
from sqlalchemy import text as sql
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


class CandidateRow(Table):
    """One bubble of a reply. `version` is bumped by every edit; `left_seq` is the contact's count when it left."""

    __tablename__ = "candidates"

    id: Mapped[Key]
    org_id: Mapped[Ref]
    job_id: Mapped[Ref] = mapped_column(ForeignKey("jobs.id"))
    conversation_id: Mapped[Ref]
    ordinal: Mapped[int]
    kind: Mapped[Str]
    state: Mapped[Str]
    text: Mapped[Str]
    media: Mapped[Bytes | None]
    price: Mapped[Facts | None]
    audio: Mapped[Facts | None]
    version: Mapped[Count]
    reason: Mapped[Str | None]
    left_seq: Mapped[int | None]
    left_at: Mapped[Moment | None]
    sent_at: Mapped[Moment | None]
    platform_id: Mapped[Str | None]
    created_at: Mapped[Stamp]

    __table_args__ = (
        CheckConstraint(
            "state IN ('held', 'preparing', 'leaving', 'sent', 'dropped', 'recalled', 'failed')", name="state"
        ),
        Index("candidates_job", "job_id", "ordinal"),
        Index("candidates_audio", sql("(audio ->> 'key')"), postgresql_where=sql("audio IS NOT NULL")),
        Index("candidates_sent", "conversation_id", "id", postgresql_where=sql("state = 'sent'")),
    )


class DeliveryRow(Due, Table):
    """One webhook on its way, its body frozen. Of one conversation at most one bubble is out: `one_bubble_out`.

    `ambiguous`: an attempt ended without a whole answer, so the receiver may have applied it; it is never recalled,
    and repeated under the same id.
    """

    __tablename__ = "deliveries"

    id: Mapped[Key]
    webhook_id: Mapped[Str]
    type: Mapped[Str]
    conversation_id: Mapped[Ref | None]
    job_id: Mapped[Ref | None]
    candidate_id: Mapped[Ref | None]
    body: Mapped[Str]
    state: Mapped[Str]
    attempts: Mapped[Count]
    ambiguous: Mapped[Flag]
    error: Mapped[Str | None]
    first_attempt_at: Mapped[Moment | None]
    created_at: Mapped[Stamp]
    ended_at: Mapped[Moment | None]

    __table_args__ = (
        CheckConstraint("state IN ('waiting', 'posting', 'accepted', 'failed', 'recalled')", name="state"),
        UniqueConstraint("webhook_id"),
        Index(
            "one_bubble_out",
            "conversation_id",
            unique=True,
            postgresql_where=sql("candidate_id IS NOT NULL AND state IN ('posting', 'waiting')"),
        ),
        Index("deliveries_candidate", "candidate_id", postgresql_where=sql("candidate_id IS NOT NULL")),
        Index("deliveries_events", "conversation_id", postgresql_where=sql("candidate_id IS NULL")),
        Index("deliveries_due", "queue", "org_id", "due_at", postgresql_where=WAITS_FOR_CLOCK),
        Index("deliveries_due_time", "due_at", postgresql_where=WAITS_FOR_CLOCK),
        Index("deliveries_in_flight", "queue", "org_id", postgresql_where=IN_FLIGHT),
        Index("deliveries_leased", "lease_until", postgresql_where=LEASED),
    )


class DeadLetterRow(Table):
    """What was given up. `state`: open, retried or purged."""

    __tablename__ = "dead_letters"

    id: Mapped[Key]
    org_id: Mapped[Ref | None]
    source: Mapped[Str]
    state: Mapped[Str] = mapped_column(server_default=sql("'open'"))
    job_id: Mapped[Ref | None]
    delivery_id: Mapped[Ref | None]
    code: Mapped[Str]
    error: Mapped[Str]
    attempts: Mapped[Count]
    payload: Mapped[Facts]
    first_seen: Mapped[Stamp]
    last_seen: Mapped[Stamp]

    __table_args__ = (
        CheckConstraint("source IN ('job', 'delivery', 'queue')", name="source"),
        Index("dead_letters_open", "org_id", "id", postgresql_where=sql("state = 'open'")),
        Index("dead_letters_state", "state", "id"),
        Index(
            "dead_letters_delivery",
            "delivery_id",
            postgresql_where=sql("job_id IS NULL AND delivery_id IS NOT NULL"),
        ),
        Index("dead_letters_job", "job_id", postgresql_where=sql("job_id IS NOT NULL")),
        Index(
            "dead_letters_message",
            sql("md5(payload::text)"),
            unique=True,
            postgresql_where=sql("source = 'queue' AND state = 'open'"),
        ),
    )
