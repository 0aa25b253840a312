"""PostgreSQL and Valkey out of wheels, for one machine: what `replique up`, the demo and the tests run on."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from workers.runtime.embedded.errors import (
    EmbeddedServerError,
    FolderInUse,
    FolderUnusable,
    ServerDidNotStart,
    ServerStillRunning,
    WheelMissing,
)
from workers.runtime.embedded.postgres import EmbeddedPostgres
from workers.runtime.embedded.server import EmbeddedServer
from workers.runtime.embedded.valkey import EmbeddedValkey

__all__ = [
    "EmbeddedPostgres",
    "EmbeddedServerError",
    "EmbeddedValkey",
    "FolderInUse",
    "FolderUnusable",
    "ServerDidNotStart",
    "ServerStillRunning",
    "Servers",
    "WheelMissing",
    "servers",
]


@dataclass(frozen=True)
class Servers:
    """Where to connect: `postgresql://…` and `unix://…?db=0` (or what was given), and what we run of it."""

    database_url: str
    redis_url: str
    own: tuple[EmbeddedServer, ...] = ()

    def revive(self) -> list[str]:
        """Start again what died, and name it; the addresses stay. Call it from the main thread."""
        dead = [server for server in self.own if not server.running]
        return [server.start().program for server in dead]


@contextmanager
def servers(folder: Path, *, database_url: str | None = None, redis_url: str | None = None) -> Iterator[Servers]:
    """Start, below `folder`, a server for each address that is not given, and stop it at the end.

    A second call for the same folder, from this process or another, raises FolderInUse while the first
    lasts: to share would mean that the first to leave takes the server from the second.
    """
    with ExitStack() as stack:
        own: list[EmbeddedServer] = []
        if database_url is None:
            postgres = stack.enter_context(EmbeddedPostgres(folder / "postgres"))
            database_url, own = postgres.database_url, [*own, postgres]
        if redis_url is None:
            valkey = stack.enter_context(EmbeddedValkey(folder / "valkey"))
            redis_url, own = valkey.redis_url, [*own, valkey]
        yield Servers(database_url, redis_url, tuple(own))
