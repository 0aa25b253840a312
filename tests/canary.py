"""A rare word is looked for in everything that an installation keeps: every table, Redis, every file, every log."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import redis

_TABLES = "SELECT tablename FROM pg_tables WHERE schemaname = 'public' ORDER BY tablename"
# What the planner keeps of the values it has sampled. Columns of names (ids of the upstream app) keep theirs until the
# next ANALYZE: they are looked up by, so it must know them.
_STATISTICS = """
SELECT tablename || '.' || attname, concat_ws(' ', most_common_vals, histogram_bounds, most_common_elems)
FROM pg_stats WHERE schemaname = 'public' AND attname <> 'name'"""


def found_in(word: str, database_url: str, redis_url: str, folder: Path) -> set[str]:
    """Where the word is: names of tables, `redis:key`, paths of files, `statistics:table.column`."""
    needle = word.lower().encode()
    return {
        place
        for looked in (_tables(database_url), _statistics(database_url), _redis(redis_url), _files(folder))
        for place, content in looked
        if needle in content.lower() or needle in place.lower().encode()
    }


def _tables(database_url: str) -> Iterator[tuple[str, bytes]]:
    """As a dump has them: every column of every row, what is stored out of line too."""
    with psycopg.connect(database_url) as connection:
        for (table,) in connection.execute(_TABLES).fetchall():
            with connection.cursor().copy(f'COPY "{table}" TO STDOUT') as rows:  # type: ignore[arg-type]
                yield table, b"".join(bytes(part) for part in rows)


def _statistics(database_url: str) -> Iterator[tuple[str, bytes]]:
    with psycopg.connect(database_url) as connection:
        for column, values in connection.execute(_STATISTICS).fetchall():
            yield f"statistics:{column}", values.encode()


def _redis(redis_url: str) -> Iterator[tuple[str, bytes]]:
    client: Any = redis.Redis.from_url(redis_url)
    for key in client.scan_iter(count=1000):
        # `DUMP` compresses what is long, so that a word in it might not be seen.
        read = {b"string": client.get, b"hash": client.hgetall, b"set": client.smembers}.get(client.type(key))
        found = read(key) if read else [client.lrange(key, 0, -1)] if client.type(key) == b"list" else client.dump(key)
        yield f"redis:{key.decode(errors='replace')}", repr(found).encode()


def _files(folder: Path) -> Iterator[tuple[str, bytes]]:
    for path in folder.rglob("*"):
        if path.is_file():
            yield str(path.relative_to(folder)), path.read_bytes()
