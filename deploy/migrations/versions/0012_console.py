"""console"""

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"
branch_labels = None
depends_on = None

NOW = sa.text("clock_timestamp()")


def _key() -> "sa.Column[int]":
    return sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False)


def _moment(name: str, *, nullable: bool = True, stamped: bool = False) -> "sa.Column[object]":
    return sa.Column(
        name, sa.DateTime(timezone=True), nullable=nullable and not stamped, server_default=NOW if stamped else None
    )


def upgrade() -> None:
    op.create_table(
        "users",
        _key(),
        sa.Column("org_id", sa.BigInteger(), nullable=True),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("email", sa.Text(), nullable=False),
        sa.Column("role", sa.Text(), nullable=False),
        sa.Column("locale", sa.Text(), nullable=False),
        sa.Column("password", sa.Text(), nullable=True),
        _moment("created_at", stamped=True),
        _moment("updated_at", stamped=True),
        _moment("disabled_at"),
        sa.CheckConstraint("role IN ('operator', 'ops', 'admin')", name=op.f("users_role_check")),
        sa.PrimaryKeyConstraint("id", name=op.f("users_pkey")),
        sa.UniqueConstraint("email", name=op.f("users_email_key")),
        sa.UniqueConstraint("org_id", "name", name=op.f("users_org_id_name_key"), postgresql_nulls_not_distinct=True),
    )
    op.create_table(
        "user_links",
        _key(),
        sa.Column("user_id", sa.BigInteger(), nullable=False),
        sa.Column("hash", sa.Text(), nullable=False),
        _moment("created_at", stamped=True),
        _moment("expires_at", nullable=False),
        _moment("used_at"),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=op.f("user_links_user_id_fkey")),
        sa.PrimaryKeyConstraint("id", name=op.f("user_links_pkey")),
        sa.UniqueConstraint("hash", name=op.f("user_links_hash_key")),
    )
    op.create_index(op.f("user_links_user_id"), "user_links", ["user_id"])
    op.create_table(
        "console_sessions",
        _key(),
        sa.Column("hash", sa.Text(), nullable=False),
        sa.Column("user_id", sa.BigInteger(), nullable=True),
        sa.Column("key_id", sa.BigInteger(), nullable=True),
        sa.Column("org_id", sa.BigInteger(), nullable=True),
        sa.Column("locale", sa.Text(), nullable=True),
        _moment("created_at", stamped=True),
        _moment("seen_at", stamped=True),
        sa.CheckConstraint("(user_id IS NULL) <> (key_id IS NULL)", name=op.f("console_sessions_holder_check")),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=op.f("console_sessions_user_id_fkey")),
        sa.ForeignKeyConstraint(["key_id"], ["api_keys.id"], name=op.f("console_sessions_key_id_fkey")),
        sa.PrimaryKeyConstraint("id", name=op.f("console_sessions_pkey")),
        sa.UniqueConstraint("hash", name=op.f("console_sessions_hash_key")),
    )
    op.create_index(op.f("console_sessions_user_id"), "console_sessions", ["user_id"])
    op.create_index(op.f("console_sessions_created_at"), "console_sessions", ["created_at"])
    op.create_table(
        "sign_in_failures",
        _key(),
        sa.Column("subject", sa.Text(), nullable=False),
        _moment("at", stamped=True),
        sa.PrimaryKeyConstraint("id", name=op.f("sign_in_failures_pkey")),
    )
    op.create_index(op.f("sign_in_failures_subject_at"), "sign_in_failures", ["subject", "at"])
    op.create_index(op.f("sign_in_failures_at"), "sign_in_failures", ["at"])
    op.create_index("jobs_window", "jobs", ["org_id", "id"], postgresql_where=sa.text("state IN ('held', 'sending')"))
    op.create_index(
        "media_items_persona", "media_items", ["persona_id", "name"], postgresql_where=sa.text("deleted_at IS NULL")
    )
