"""Bring a database to the newest schema, and say whether it is there."""

from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import create_engine, text
from sqlalchemy.engine import Connection, make_url
from sqlalchemy.pool import NullPool

_LOCK = 5_142_001
"""Advisory lock of the migration: two starting processes do not migrate at once."""


def sqlalchemy_url(database_url: str) -> str:
    """`postgresql://…`, as people write it, in the form that names the driver."""
    url = make_url(database_url)
    return url.set(drivername="postgresql+psycopg").render_as_string(hide_password=False)


def scripts() -> Path:
    """The migrations: beside the sources in a checkout, inside the package when installed."""
    checkout = Path(__file__).resolve().parents[3] / "deploy" / "migrations"
    if checkout.is_dir():
        return checkout
    return Path(__file__).resolve().parents[2] / "runtime" / "_migrations"


def _config() -> Config:
    config = Config()
    config.set_main_option("script_location", str(scripts()).replace("%", "%%"))
    return config


def newest() -> str | None:
    return ScriptDirectory.from_config(_config()).get_current_head()


def upgrade(database_url: str) -> None:
    """Apply what is missing. Safe to run from several processes at once."""
    engine = create_engine(sqlalchemy_url(database_url), poolclass=NullPool)
    try:
        with engine.begin() as connection:
            connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _LOCK})
            config = _config()
            config.attributes["connection"] = connection
            command.upgrade(config, "head")
    finally:
        engine.dispose()


def current(connection: Connection) -> str | None:
    return MigrationContext.configure(connection).get_current_revision()
