"""first schema"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "api_keys",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("org_id", sa.BigInteger(), nullable=True),
        sa.Column("role", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("hash", sa.Text(), nullable=False),
        sa.Column(
            "created_at", sa.DateTime(timezone=True), server_default=sa.text("clock_timestamp()"), nullable=False
        ),
        sa.Column("revoked_at", sa.DateTime(timezone=True), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("api_keys_pkey")),
        sa.UniqueConstraint("hash", name=op.f("api_keys_hash_key")),
    )
    op.create_table(
        "audit_log",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), server_default=sa.text("clock_timestamp()"), nullable=False),
        sa.Column("org_id", sa.BigInteger(), nullable=True),
        sa.Column("who", sa.Text(), nullable=False),
        sa.Column("action", sa.Text(), nullable=False),
        sa.Column("subject", sa.Text(), nullable=False),
        sa.Column("facts", postgresql.JSONB(astext_type=sa.Text()), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("audit_log_pkey")),
    )
    op.create_index(op.f("audit_log_org_id_id"), "audit_log", ["org_id", "id"], unique=False)
    op.create_table(
        "contacts",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("org_id", sa.BigInteger(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("display_name", sa.Text(), nullable=True),
        sa.Column("locale", sa.Text(), nullable=True),
        sa.Column("timezone", sa.Text(), nullable=True),
        sa.Column("profile", postgresql.JSONB(astext_type=sa.Text()), nullable=False),
        sa.Column("noticed_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("opted_out_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("locked_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("erased_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column(
            "created_at", sa.DateTime(timezone=True), server_default=sa.text("clock_timestamp()"), nullable=False
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("contacts_pkey")),
        sa.UniqueConstraint("org_id", "name", name=op.f("contacts_org_id_name_key")),
    )
    op.create_table(
        "dead_letters",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("org_id", sa.BigInteger(), nullable=True),
        sa.Column("source", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), server_default=sa.text("'open'"), nullable=False),
        sa.Column("job_id", sa.BigInteger(), nullable=True),
        sa.Column("delivery_id", sa.BigInteger(), nullable=True),
        sa.Column("code", sa.Text(), nullable=False),
        sa.Column("error", sa.Text(), nullable=False),
        sa.Column("attempts", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("payload", postgresql.JSONB(astext_type=sa.Text()), nullable=False),
        sa.Column(
            "first_seen", sa.DateTime(timezone=True), server_default=sa.text("clock_timestamp()"), nullable=False
        ),
        sa.Column("last_seen", sa.DateTime(timezone=True), server_default=sa.text("clock_timestamp()"), nullable=False),
        sa.CheckConstraint("source IN ('job', 'delivery', 'queue')", name=op.f("dead_letters_source_check")),
        sa.PrimaryKeyConstraint("id", name=op.f("dead_letters_pkey")),
    )
    op.create_index(
        "dead_letters_job", "dead_letters", ["job_id"], unique=False, postgresql_where=sa.text("job_id IS NOT NULL")
    )
    op.create_index(
        "dead_letters_open", "dead_letters", ["org_id", "id"], unique=False, postgresql_where=sa.text("state = 'open'")
    )
    op.create_table(
        "deliveries",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("webhook_id", sa.Text(), nullable=False),
        sa.Column("type", sa.Text(), nullable=False),
        sa.Column("conversation_id", sa.BigInteger(), nullable=True),
        sa.Column("job_id", sa.BigInteger(), nullable=True),
        sa.Column("candidate_id", sa.BigInteger(), nullable=True),
        sa.Column("body", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("attempts", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("ambiguous", sa.Boolean(), server_default=sa.text("false"), nullable=False),
        sa.Column("error", sa.Text(), nullable=True),
        sa.Column("first_attempt_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column(
            "created_at", sa.DateTime(timezone=True), server_default=sa.text("clock_timestamp()"), nullable=False
        ),
        sa.Column("ended_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("org_id", sa.BigInteger(), nullable=False),
        sa.Column("queue", sa.Text(), nullable=False),
        sa.Column("due_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("dispatched_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("fence", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("lease_until", sa.DateTime(timezone=True), nullable=True),
        sa.Column("leased_by", sa.Text(), nullable=True),
        sa.Column("crashes", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.CheckConstraint(
            "state IN ('waiting', 'posting', 'accepted', 'failed', 'recalled')", name=op.f("deliveries_state_check")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("deliveries_pkey")),
        sa.UniqueConstraint("webhook_id", name=op.f("deliveries_webhook_id_key")),
    )
    op.create_index(
        "deliveries_candidate",
        "deliveries",
        ["candidate_id"],
        unique=False,
        postgresql_where=sa.text("candidate_id IS NOT NULL"),
    )
    op.create_index(
        "deliveries_due",
        "deliveries",
        ["queue", "org_id", "due_at"],
        unique=False,
        postgresql_where=sa.text("dispatched_at IS NULL AND lease_until IS NULL AND due_at IS NOT NULL"),
    )
    op.create_index(
        "deliveries_due_time",
        "deliveries",
        ["due_at"],
        unique=False,
        postgresql_where=sa.text("dispatched_at IS NULL AND lease_until IS NULL AND due_at IS NOT NULL"),
    )
    op.create_index(
        "deliveries_in_flight",
        "deliveries",
        ["queue", "org_id"],
        unique=False,
        postgresql_where=sa.text("dispatched_at IS NOT NULL OR lease_until IS NOT NULL"),
    )
    op.create_index(
        "deliveries_leased",
        "deliveries",
        ["lease_until"],
        unique=False,
        postgresql_where=sa.text("lease_until IS NOT NULL"),
    )
    op.create_index(
        "one_bubble_out",
        "deliveries",
        ["conversation_id"],
        unique=True,
        postgresql_where=sa.text("candidate_id IS NOT NULL AND state IN ('posting', 'waiting')"),
    )
    op.create_table(
        "installation",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("tag", sa.Text(), nullable=False),
        sa.Column("secret", sa.Text(), nullable=False),
        sa.Column("redis_epoch", sa.Text(), nullable=True),
        sa.Column(
            "created_at", sa.DateTime(timezone=True), server_default=sa.text("clock_timestamp()"), nullable=False
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("installation_pkey")),
    )
    op.create_table(
        "job_events",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("org_id", sa.BigInteger(), nullable=False),
        sa.Column("job_id", sa.BigInteger(), nullable=False),
        sa.Column("conversation_id", sa.BigInteger(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), server_default=sa.text("clock_timestamp()"), nullable=False),
        sa.Column("who", sa.Text(), nullable=False),
        sa.Column("from_state", sa.Text(), nullable=True),
        sa.Column("to_state", sa.Text(), nullable=False),
        sa.Column("why", sa.Text(), nullable=False),
        sa.Column("facts", postgresql.JSONB(astext_type=sa.Text()), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("job_events_pkey")),
    )
    op.create_index("job_events_job", "job_events", ["job_id", "id"], unique=False)
    op.create_table(
        "ledger",
        sa.Column("call", sa.Text(), nullable=False),
        sa.Column("org_id", sa.BigInteger(), nullable=False),
        sa.Column("pipeline", sa.Text(), nullable=False),
        sa.Column("task", sa.Text(), nullable=False),
        sa.Column("conversation_id", sa.BigInteger(), nullable=True),
        sa.Column("job_id", sa.BigInteger(), nullable=True),
        sa.Column("run_id", sa.BigInteger(), nullable=True),
        sa.Column("fence", sa.Integer(), nullable=False),
        sa.Column("provider", sa.Text(), nullable=False),
        sa.Column("model", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("outcome", sa.Text(), nullable=True),
        sa.Column("input", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("cache_read", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("cache_write_5m", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("cache_write_1h", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("output", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("reserved_usd", sa.Numeric(precision=16, scale=10), nullable=True),
        sa.Column("cost_usd", sa.Numeric(precision=16, scale=10), nullable=True),
        sa.Column("eur_per_usd", sa.Numeric(precision=12, scale=6), nullable=True),
        sa.Column("latency_ms", sa.Integer(), nullable=True),
        sa.Column("request_id", sa.Text(), nullable=True),
        sa.Column("discarded", sa.Boolean(), server_default=sa.text("false"), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), server_default=sa.text("clock_timestamp()"), nullable=False),
        sa.Column("settled_at", sa.DateTime(timezone=True), nullable=True),
        sa.CheckConstraint("state IN ('reserved', 'settled', 'unknown')", name=op.f("ledger_state_check")),
        sa.PrimaryKeyConstraint("call", name=op.f("ledger_pkey")),
    )
    op.create_index("ledger_job", "ledger", ["job_id"], unique=False)
    op.create_index("ledger_org", "ledger", ["org_id", "at"], unique=False)
    op.create_index("ledger_run", "ledger", ["run_id"], unique=False)
    op.create_table(
        "organizations",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("spec", postgresql.JSONB(astext_type=sa.Text()), nullable=False),
        sa.Column("version", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("webhook_disabled_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column(
            "updated_at", sa.DateTime(timezone=True), server_default=sa.text("clock_timestamp()"), nullable=False
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("organizations_pkey")),
        sa.UniqueConstraint("name", name=op.f("organizations_name_key")),
    )
    op.create_table(
        "personas",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("org_id", sa.BigInteger(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("spec", postgresql.JSONB(astext_type=sa.Text()), nullable=False),
        sa.Column("version", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column(
            "updated_at", sa.DateTime(timezone=True), server_default=sa.text("clock_timestamp()"), nullable=False
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("personas_pkey")),
        sa.UniqueConstraint("org_id", "name", name=op.f("personas_org_id_name_key")),
    )
    op.create_table(
        "conversations",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("org_id", sa.BigInteger(), nullable=False),
        sa.Column("persona_id", sa.BigInteger(), nullable=False),
        sa.Column("contact_id", sa.BigInteger(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("inbound_seq", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("last_position", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("last_inbound_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("operator_seq", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("handled_by", sa.Text(), server_default=sa.text("'ai'"), nullable=False),
        sa.Column("handled_by_who", sa.Text(), nullable=True),
        sa.Column("handled_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("plan", sa.Text(), nullable=True),
        sa.Column("paused_until", sa.DateTime(timezone=True), nullable=True),
        sa.Column("follow_up_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column(
            "created_at", sa.DateTime(timezone=True), server_default=sa.text("clock_timestamp()"), nullable=False
        ),
        sa.ForeignKeyConstraint(["contact_id"], ["contacts.id"], name=op.f("conversations_contact_id_fkey")),
        sa.ForeignKeyConstraint(["persona_id"], ["personas.id"], name=op.f("conversations_persona_id_fkey")),
        sa.PrimaryKeyConstraint("id", name=op.f("conversations_pkey")),
        sa.UniqueConstraint("org_id", "name", name=op.f("conversations_org_id_name_key")),
    )
    op.create_index(op.f("conversations_contact_id"), "conversations", ["contact_id"], unique=False)
    op.create_index(
        "conversations_follow_up_at",
        "conversations",
        ["follow_up_at"],
        unique=False,
        postgresql_where=sa.text("follow_up_at IS NOT NULL"),
    )
    op.create_table(
        "jobs",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("conversation_id", sa.BigInteger(), nullable=False),
        sa.Column("kind", sa.Text(), server_default=sa.text("'reply'"), nullable=False),
        sa.Column("trigger", sa.Text(), server_default=sa.text("'message'"), nullable=False),
        sa.Column("engine", sa.Text(), server_default=sa.text("'v2'"), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("inbound_seq", sa.Integer(), nullable=False),
        sa.Column("pinned", sa.Boolean(), server_default=sa.text("false"), nullable=False),
        sa.Column("restarts", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("supersedes", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("tries", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("claims", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("first_message_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("parked_until", sa.DateTime(timezone=True), nullable=True),
        sa.Column("on_hold", sa.Boolean(), server_default=sa.text("false"), nullable=False),
        sa.Column("rest", sa.Interval(), nullable=True),
        sa.Column("code", sa.Text(), nullable=True),
        sa.Column("reason", sa.Text(), nullable=True),
        sa.Column("note", sa.Text(), nullable=True),
        sa.Column("attention", sa.Text(), nullable=True),
        sa.Column("instruction", sa.Text(), nullable=True),
        sa.Column(
            "created_at", sa.DateTime(timezone=True), server_default=sa.text("clock_timestamp()"), nullable=False
        ),
        sa.Column("ended_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("org_id", sa.BigInteger(), nullable=False),
        sa.Column("queue", sa.Text(), nullable=False),
        sa.Column("due_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("dispatched_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("fence", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("lease_until", sa.DateTime(timezone=True), nullable=True),
        sa.Column("leased_by", sa.Text(), nullable=True),
        sa.Column("crashes", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.CheckConstraint("kind IN ('reply', 'follow_up', 'delivery')", name=op.f("jobs_kind_check")),
        sa.CheckConstraint(
            "state IN ('queued', 'running', 'held', 'sending', 'sent', 'silent', 'failed', 'superseded', 'cancelled')",
            name=op.f("jobs_state_check"),
        ),
        sa.ForeignKeyConstraint(["conversation_id"], ["conversations.id"], name=op.f("jobs_conversation_id_fkey")),
        sa.PrimaryKeyConstraint("id", name=op.f("jobs_pkey")),
    )
    op.create_index(
        "jobs_attention", "jobs", ["org_id", "id"], unique=False, postgresql_where=sa.text("attention = 'open'")
    )
    op.create_index("jobs_conversation", "jobs", ["conversation_id", "id"], unique=False)
    op.create_index(
        "jobs_due",
        "jobs",
        ["queue", "org_id", "due_at"],
        unique=False,
        postgresql_where=sa.text("dispatched_at IS NULL AND lease_until IS NULL AND due_at IS NOT NULL"),
    )
    op.create_index(
        "jobs_due_time",
        "jobs",
        ["due_at"],
        unique=False,
        postgresql_where=sa.text("dispatched_at IS NULL AND lease_until IS NULL AND due_at IS NOT NULL"),
    )
    op.create_index(
        "jobs_in_flight",
        "jobs",
        ["queue", "org_id"],
        unique=False,
        postgresql_where=sa.text("dispatched_at IS NOT NULL OR lease_until IS NOT NULL"),
    )
    op.create_index(
        "jobs_leased", "jobs", ["lease_until"], unique=False, postgresql_where=sa.text("lease_until IS NOT NULL")
    )
    op.create_index(
        "jobs_live",
        "jobs",
        ["id"],
        unique=False,
        postgresql_where=sa.text("state IN ('queued', 'running', 'held', 'sending')"),
    )
    op.create_index("jobs_org", "jobs", ["org_id", "id"], unique=False)
    op.create_index(
        "one_live_reply",
        "jobs",
        ["conversation_id"],
        unique=True,
        postgresql_where=sa.text("kind <> 'delivery' AND state IN ('queued', 'running', 'held', 'sending')"),
    )
    op.create_table(
        "messages",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("org_id", sa.BigInteger(), nullable=False),
        sa.Column("conversation_id", sa.BigInteger(), nullable=False),
        sa.Column("name", sa.Text(), nullable=True),
        sa.Column("author", sa.Text(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("seq", sa.Integer(), nullable=True),
        sa.Column("kind", sa.Text(), server_default=sa.text("'text'"), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("attachments", postgresql.JSON(astext_type=sa.Text()), nullable=True),
        sa.Column("candidate_id", sa.BigInteger(), nullable=True),
        sa.Column("job_id", sa.BigInteger(), nullable=True),
        sa.Column("body_hash", sa.Text(), nullable=True),
        sa.Column("reason", sa.Text(), nullable=True),
        sa.Column("sent_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column(
            "created_at", sa.DateTime(timezone=True), server_default=sa.text("clock_timestamp()"), nullable=False
        ),
        sa.Column("edited_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("deleted_at", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(["conversation_id"], ["conversations.id"], name=op.f("messages_conversation_id_fkey")),
        sa.PrimaryKeyConstraint("id", name=op.f("messages_pkey")),
        sa.UniqueConstraint("conversation_id", "position", name=op.f("messages_conversation_id_position_key")),
        sa.UniqueConstraint("org_id", "name", name=op.f("messages_org_id_name_key")),
    )
    op.create_index(
        "messages_candidate_id",
        "messages",
        ["candidate_id"],
        unique=True,
        postgresql_where=sa.text("candidate_id IS NOT NULL"),
    )
    op.create_table(
        "candidates",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("org_id", sa.BigInteger(), nullable=False),
        sa.Column("job_id", sa.BigInteger(), nullable=False),
        sa.Column("conversation_id", sa.BigInteger(), nullable=False),
        sa.Column("ordinal", sa.Integer(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("media", postgresql.JSON(astext_type=sa.Text()), nullable=True),
        sa.Column("price", postgresql.JSONB(astext_type=sa.Text()), nullable=True),
        sa.Column("audio", postgresql.JSONB(astext_type=sa.Text()), nullable=True),
        sa.Column("version", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("reason", sa.Text(), nullable=True),
        sa.Column("left_seq", sa.Integer(), nullable=True),
        sa.Column("left_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("sent_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("platform_id", sa.Text(), nullable=True),
        sa.Column(
            "created_at", sa.DateTime(timezone=True), server_default=sa.text("clock_timestamp()"), nullable=False
        ),
        sa.CheckConstraint(
            "state IN ('held', 'preparing', 'leaving', 'sent', 'dropped', 'recalled', 'failed')",
            name=op.f("candidates_state_check"),
        ),
        sa.ForeignKeyConstraint(["job_id"], ["jobs.id"], name=op.f("candidates_job_id_fkey")),
        sa.PrimaryKeyConstraint("id", name=op.f("candidates_pkey")),
    )
    op.create_index("candidates_job", "candidates", ["job_id", "ordinal"], unique=False)
    op.create_index(
        "candidates_sent",
        "candidates",
        ["conversation_id", "id"],
        unique=False,
        postgresql_where=sa.text("state = 'sent'"),
    )
    op.create_table(
        "runs",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("job_id", sa.BigInteger(), nullable=False),
        sa.Column("inbound_seq", sa.Integer(), nullable=False),
        sa.Column("outcome", sa.Text(), nullable=True),
        sa.Column("active_seconds", sa.Double(), server_default=sa.text("0"), nullable=False),
        sa.Column("trace", postgresql.JSON(astext_type=sa.Text()), nullable=True),
        sa.Column(
            "started_at", sa.DateTime(timezone=True), server_default=sa.text("clock_timestamp()"), nullable=False
        ),
        sa.ForeignKeyConstraint(["job_id"], ["jobs.id"], name=op.f("runs_job_id_fkey")),
        sa.PrimaryKeyConstraint("id", name=op.f("runs_pkey")),
    )
    op.create_index("runs_job", "runs", ["job_id", "id"], unique=False)
    op.create_index("runs_open", "runs", ["job_id"], unique=True, postgresql_where=sa.text("outcome IS NULL"))
    op.create_table(
        "run_steps",
        sa.Column("run_id", sa.BigInteger(), nullable=False),
        sa.Column("n", sa.Integer(), nullable=False),
        sa.Column("task", sa.Text(), nullable=False),
        sa.Column("content", postgresql.JSON(astext_type=sa.Text()), nullable=False),
        sa.Column("trace", postgresql.JSON(astext_type=sa.Text()), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), server_default=sa.text("clock_timestamp()"), nullable=False),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], name=op.f("run_steps_run_id_fkey")),
        sa.PrimaryKeyConstraint("run_id", "n", name=op.f("run_steps_pkey")),
    )
    # gen_random_uuid is built in from PostgreSQL 13 on; two of them make 244 random bits
    op.execute(
        "INSERT INTO installation (tag, secret) VALUES "
        "(left(replace(gen_random_uuid()::text, '-', ''), 10), "
        "replace(gen_random_uuid()::text || gen_random_uuid()::text, '-', ''))"
    )
