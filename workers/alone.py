"""`python -m workers.alone NAME JOB CONVERSATION`: a worker with one job in hand, started by one that must not die."""

import asyncio
import signal
import sys

from schemas.jobs import AutoReply, Queue
from schemas.settings import read_settings
from workers.actors.auto_reply import auto_reply
from workers.bootstrap import build_app
from workers.runtime.logging import configure
from workers.runtime.loop import new_event_loop


async def run(name: str, hint: AutoReply) -> None:
    settings = read_settings()
    configure(settings.log_level, settings.log_json)
    async with build_app(settings, name, [Queue.REPLY], alone=True) as app:
        job = asyncio.create_task(auto_reply.perform(hint, app))
        for number in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(number, job.cancel)
        await job


def main(name: str, job: str, conversation: str) -> None:
    with asyncio.Runner(loop_factory=new_event_loop) as runner:
        runner.run(run(name, AutoReply(job=int(job), conversation=int(conversation))))


if __name__ == "__main__":
    main(*sys.argv[1:])
