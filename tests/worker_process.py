"""What the process tests start: `python -m tests.worker_process worker|clock queues processes threads`.

SIGUSR1 blocks its event loop for good, SIGUSR2 ends its consumers: what no bug of today does at will.
"""

import signal
import sys
import threading
import time
from typing import Any

from schemas.jobs import Queue
from schemas.settings import read_settings


def block_the_loop(*_: object) -> None:
    (loop,) = (target.__self__ for thread, target in threads() if thread.name == "event-loop")
    loop._loop.call_soon_threadsafe(time.sleep, 600)


def end_the_consumers(*_: object) -> None:
    for thread, _target in threads():
        if type(thread).__name__ == "ConsumerThread":
            thread.stop()


def threads() -> list[tuple[Any, Any]]:
    return [(thread, getattr(thread, "_target", None)) for thread in threading.enumerate()]


def main(what: str, queues: str = "reply,send", processes: str = "1", each: str = "8") -> int:
    settings = read_settings()
    if what == "clock":
        from workers.clock import run_clock

        run_clock(settings)
        return 0
    from workers.main import run_worker

    signal.signal(signal.SIGUSR1, block_the_loop)
    signal.signal(signal.SIGUSR2, end_the_consumers)
    return run_worker(settings, [Queue(name) for name in queues.split(",")], int(processes), int(each))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
