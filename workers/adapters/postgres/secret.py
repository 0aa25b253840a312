"""The secret of this installation: what its file links are signed with."""

from sqlalchemy import text

from schemas.settings import Settings
from workers.adapters.postgres.database import Database

_SECRET = text("SELECT secret FROM installation ORDER BY id LIMIT 1")


class InstallationSecret:
    """`REPLIQUE_SECRET_KEY`, else the one made at the first migration, read when first needed: a process starts while
    its database is away."""

    def __init__(self, database: Database, settings: Settings) -> None:
        self._db = database
        self._kept = settings.secret_key.get_secret_value() if settings.secret_key else None

    async def __call__(self) -> str:
        """Raises `Unavailable`."""
        if self._kept is None:
            async with self._db.transaction() as connection:
                self._kept = str(await connection.scalar(_SECRET))
        return self._kept
