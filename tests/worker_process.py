"""What the process tests start: `python -m tests.worker_process worker|clock queues processes threads`."""

import sys

from schemas.jobs import Queue
from schemas.settings import read_settings


def main(what: str, queues: str = "reply,send", processes: str = "1", threads: str = "8") -> int:
    settings = read_settings()
    if what == "clock":
        from workers.clock import run_clock

        run_clock(settings)
        return 0
    from workers.main import run_worker

    return run_worker(settings, [Queue(name) for name in queues.split(",")], int(processes), int(threads))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
