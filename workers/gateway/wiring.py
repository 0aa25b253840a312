"""Where the gateway's parts meet what they stand on."""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

from schemas.jobs import Hint
from schemas.settings import Settings
from workers.adapters.postgres.counts import Counter
from workers.adapters.postgres.database import Database
from workers.adapters.postgres.keys import Keys
from workers.adapters.postgres.provision import Provision
from workers.adapters.postgres.transitions import Transitions
from workers.adapters.postgres.views.conversations import Conversations
from workers.adapters.postgres.views.dead_letters import DeadLetters
from workers.adapters.postgres.views.jobs import Jobs
from workers.adapters.postgres.views.snapshot import Snapshots
from workers.gateway.auth import Guard
from workers.gateway.parts import Parts, Probe


class NoCourier:
    """Without Redis hints go nowhere: the clock finds every row by itself."""

    async def push(self, hints: Sequence[Hint]) -> None:
        return


async def no_redis() -> Mapping[str, Any]:
    return {"configured": False}


@asynccontextmanager
async def open_parts(settings: Settings) -> AsyncIterator[Parts]:
    """Opens the pool lazily: a gateway starts while its database is still away, and says so on /readyz."""
    if settings.database_url is None:
        raise RuntimeError("DATABASE_URL is not set")
    database = Database(settings.database_url.get_secret_value(), settings.worker.pool_size, settings.pg_prepare)
    transitions = Transitions(database, settings, NoCourier(), settings.instance or "gateway")
    try:
        yield assemble(settings, database, transitions, no_redis)
    finally:
        await database.close()


def assemble(settings: Settings, database: Database, transitions: Transitions, redis: Probe) -> Parts:
    keys, snapshots = Keys(database, settings), Snapshots(database)
    return Parts(
        transitions=transitions,
        guard=Guard(keys, settings.gateway, asyncio.get_running_loop().time),
        keys=keys,
        provision=Provision(database),
        conversations=Conversations(snapshots),
        jobs=Jobs(snapshots),
        dead_letters=DeadLetters(snapshots),
        counter=Counter(database),
        redis=redis,
    )
