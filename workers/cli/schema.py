"""Brings a database to the newest schema, for commands: what goes wrong is a sentence."""

from sqlalchemy.exc import ArgumentError, OperationalError

from workers.adapters.postgres.migrate import newest, upgrade
from workers.cli.failures import AskedWrongly, CommandFailed


class DatabaseAway(CommandFailed):
    """The server does not answer, or refuses this user or database."""


def bring_up_to_date(database_url: str) -> str | None:
    """Answers the revision the database is at now. Raises DatabaseAway, AskedWrongly."""
    try:
        upgrade(database_url)
    except ArgumentError as error:
        raise AskedWrongly("DATABASE_URL is no address of a database: postgresql://user:password@host/name") from error
    except OperationalError as error:
        why = str(error.orig).strip().splitlines()[0]
        raise DatabaseAway(f"the database of DATABASE_URL does not answer: {why}") from error
    return newest()
