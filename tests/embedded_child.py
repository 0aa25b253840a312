"""A process that runs embedded servers until its standard input ends: what the tests kill.

`python tests/embedded_child.py FOLDER main|thread UID PYTHON`: the thread from which the servers are started,
whom to become before (-1: nobody else) and the interpreter that this user may read.
"""

import json
import os
import sys
import threading
from pathlib import Path

import redis

from workers.runtime.embedded import EmbeddedPostgres, EmbeddedValkey

FAST = {"fsync": "off", "full_page_writes": "off"}


def main(folder: str, thread: str, uid: str, python: str) -> None:
    if int(uid) >= 0:
        become(int(uid))
        sys.executable = python
    postgres = EmbeddedPostgres(Path(folder) / "postgres", FAST)
    valkey = EmbeddedValkey(Path(folder) / "valkey")
    starting = threading.Thread(target=lambda: (postgres.start(), valkey.start()))
    starting.run() if thread == "main" else starting.start()
    if thread == "thread":
        starting.join()
    urls = {"database_url": postgres.database_url, "redis_url": valkey.redis_url}
    sys.stdout.write(json.dumps(urls | {"pids": [postgres.pid, valkey.pid]}) + "\n")
    sys.stdout.flush()
    sys.stdin.read()
    valkey.stop()
    postgres.stop()


def become(uid: int) -> None:
    redis.Redis.from_url("unix:///nowhere").close()  # imports late what the other user may be unable to read
    os.setgroups([])
    os.setgid(uid)
    os.setuid(uid)


if __name__ == "__main__":
    main(*sys.argv[1:])
