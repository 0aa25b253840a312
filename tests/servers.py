"""The PostgreSQL and Redis of a test run: started once, or those of TEST_DATABASE_URL, TEST_REDIS_URL."""

import importlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn
from urllib.parse import parse_qsl, urlencode, urlsplit
from uuid import uuid4

import psycopg
import pytest
import redis
from psycopg import sql

from workers.runtime.embedded import EmbeddedPostgres, EmbeddedValkey, WheelMissing

TEMPLATE = "replique_template"
MIGRATIONS = "workers.adapters.postgres.migrate"
# A test database need not survive a power cut, nor leave a gigabyte of log in memory.
FAST = {
    "fsync": "off",
    "synchronous_commit": "off",
    "full_page_writes": "off",
    "wal_level": "minimal",
    "max_wal_senders": "0",
    "max_wal_size": "256MB",
}
MEMORY = Path("/dev/shm")
MEMORY_BYTES = 2 * 1024**3


def missing(reason: str) -> NoReturn:
    """A server that cannot be had: skipped on a desk, a failure where CI says that all must run."""
    if os.environ.get("CI"):
        pytest.fail(f"{reason} (CI runs every test)", pytrace=False)
    pytest.skip(reason)


@contextmanager
def server_folder() -> Iterator[Path]:
    """A temporary folder that a server run as nobody may enter; what it holds stays closed."""
    folder = Path(tempfile.mkdtemp(prefix="replique-tests-", dir=_quick_place()))
    folder.chmod(0o711)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _quick_place() -> Path | None:
    """Memory where there is plenty: a copy of the template is 300 new files, far quicker than on disk."""
    if not MEMORY.is_dir():
        return None
    found = os.statvfs(MEMORY)
    usable = not found.f_flag & os.ST_NOEXEC and found.f_bavail * found.f_frsize >= MEMORY_BYTES
    return MEMORY if usable and os.access(MEMORY, os.W_OK) else None


@contextmanager
def postgres() -> Iterator[str]:
    """The URL of a server in which databases may be made."""
    if given := os.environ.get("TEST_DATABASE_URL"):
        try:
            psycopg.connect(given, connect_timeout=5).close()
        except psycopg.OperationalError as error:
            missing(f"TEST_DATABASE_URL does not answer: {error}")
        yield given
        return
    with server_folder() as folder:
        try:
            server = EmbeddedPostgres(folder / "postgres", FAST)
        except WheelMissing as error:
            missing(str(error))
        with server:
            yield server.database_url


@contextmanager
def valkey() -> Iterator[str]:
    """The URL of a server whose sixteen databases are all ours."""
    if given := os.environ.get("TEST_REDIS_URL"):
        try:
            flush(given)
        except redis.RedisError as error:
            missing(f"TEST_REDIS_URL does not answer: {error}")
        yield given
        return
    with server_folder() as folder:
        try:
            server = EmbeddedValkey(folder / "valkey")
        except WheelMissing as error:
            missing(str(error))
        with server:
            yield server.redis_url


def with_database(url: str, name: str) -> str:
    parts = urlsplit(url)
    return _joined(parts.scheme, parts.netloc, f"/{name}", parts.query)


def with_redis_database(url: str, number: int) -> str:
    """The `db` of the query counts before that of the path, for sockets and TCP alike."""
    parts = urlsplit(url)
    query = dict(parse_qsl(parts.query)) | {"db": str(number)}
    return _joined(parts.scheme, parts.netloc, parts.path, urlencode(query))


def _joined(scheme: str, netloc: str, path: str, query: str) -> str:
    """As `urlunsplit`, which drops the slashes of an empty host: `unix:///run/valkey.sock`."""
    return f"{scheme}://{netloc}{path}" + (f"?{query}" if query else "")


def flush(url: str) -> None:
    with redis.Redis.from_url(url, socket_timeout=10) as client:
        client.flushdb()


def migrate(database_url: str) -> None:
    """Bring an empty database to the newest schema; before there is any schema, leave it empty."""
    try:
        migrations = importlib.import_module(MIGRATIONS)
    except ModuleNotFoundError as error:
        if error.name is None or not MIGRATIONS.startswith(error.name):
            raise
        return
    migrations.upgrade(database_url)


def make_template(server_url: str) -> str:
    """The database that each test's own is copied from. Closed once made: a session in it would stop that."""
    name = sql.Identifier(TEMPLATE)
    with psycopg.connect(server_url, autocommit=True) as server:
        known = server.execute("SELECT 1 FROM pg_database WHERE datname = %s", (TEMPLATE,)).fetchone()
        if known:
            server.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(name))
        server.execute(sql.SQL("CREATE DATABASE {} TEMPLATE template0").format(name))
        migrate(with_database(server_url, TEMPLATE))
        server.execute(sql.SQL("ALTER DATABASE {} ALLOW_CONNECTIONS false").format(name))
        server.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", (TEMPLATE,))
    return TEMPLATE


@contextmanager
def database(server_url: str, template: str = TEMPLATE) -> Iterator[str]:
    """A database of one's own, copied from `template` and dropped afterwards, sessions included."""
    name = f"test_{uuid4().hex}"
    words = {"name": sql.Identifier(name), "template": sql.Identifier(template)}
    create = sql.SQL("CREATE DATABASE {name} TEMPLATE {template} STRATEGY FILE_COPY").format(**words)
    with psycopg.connect(server_url, autocommit=True) as server:
        server.execute(create)
    try:
        yield with_database(server_url, name)
    finally:
        with psycopg.connect(server_url, autocommit=True) as server:
            server.execute(sql.SQL("DROP DATABASE {name} WITH (FORCE)").format(**words))
