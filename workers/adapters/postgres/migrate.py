"""Bring a database to the newest schema, and say whether it is there."""

from dataclasses import dataclass
from functools import cache
from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import create_engine, text
from sqlalchemy.engine import Connection, make_url
from sqlalchemy.pool import NullPool

_RUNS_SINCE = text("SELECT runs_since FROM installation ORDER BY id LIMIT 1")
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


@dataclass(frozen=True, slots=True)
class Fit:
    """A schema, as code of this release sees it. `fits`: it is the newest we know, or a later one that says of itself
    that we may run on it: what it added we do not ask for."""

    migration: str | None
    newest: str | None
    fits: bool

    @property
    def too_old(self) -> bool:
        return not self.fits and (self.migration is None or self.migration in _known())


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


def fit(connection: Connection) -> Fit:
    found, head = current(connection), newest()
    if found == head or found is None or found in _known():
        return Fit(found, head, found == head)
    since = connection.execute(_RUNS_SINCE).scalar()
    return Fit(found, head, since is not None and head is not None and since <= head)


@cache
def _known() -> frozenset[str]:
    return frozenset(script.revision for script in ScriptDirectory.from_config(_config()).walk_revisions())


def current(connection: Connection) -> str | None:
    return MigrationContext.configure(connection).get_current_revision()
