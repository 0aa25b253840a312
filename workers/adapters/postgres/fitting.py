"""A process that works on rows waits for a schema it can work on: a release is begun before or after its migration."""

import asyncio
from collections.abc import Callable

import structlog

from schemas.errors import Code, Unavailable
from workers.adapters.postgres.database import Database
from workers.adapters.postgres.migrate import Fit, fit

log = structlog.get_logger(__name__)

LOOK_SECONDS = 0.5


async def schema_fits(database_url: str, stopped: Callable[[], bool]) -> bool:
    """Waits until it does, and says once what is in the way. False: a stop was asked for meanwhile.

    A database that is away is no reason to wait: whoever works on it survives that.
    """
    database = Database(database_url, 1)
    told = False
    try:
        while not stopped():
            try:
                async with database.transaction() as connection:
                    found = await connection.run_sync(fit)
            except Unavailable:
                return True
            if found.fits:
                return True
            if not told:
                _tell(found)
                told = True
            await asyncio.sleep(LOOK_SECONDS)
        return False
    finally:
        await database.close()


def _tell(found: Fit) -> None:
    event = "schema_too_old" if found.too_old else "schema_too_new"
    hint = "run `replique migrate` of this version" if found.too_old else "run the version that this schema is for"
    code = Code.UNAVAILABLE.value
    log.error(event, code=code, migration=found.migration, newest=found.newest, hint=hint)
