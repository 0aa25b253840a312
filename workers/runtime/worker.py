"""dramatiq's worker, with a prefetch of one hint per thread and a stop that gives back before it waits."""

import time
from collections import defaultdict
from collections.abc import Iterable
from contextlib import suppress
from queue import Empty

import dramatiq
from dramatiq import Message
from dramatiq.broker import MessageProxy
from dramatiq.worker import _WorkQueueItem

from workers.runtime.broker import HintBroker
from workers.runtime.logging import logger

log = logger(__name__)

THREAD_NAP_MS = 5000
"""How often an idle thread looks up by itself; work, and the end, wake it at once."""


class HintWorker(dramatiq.Worker):
    def __init__(self, broker: HintBroker, queues: Iterable[str], threads: int) -> None:
        super().__init__(broker, queues=set(queues), worker_timeout=THREAD_NAP_MS, worker_threads=threads)
        # More than this and a hint waits in our memory while another worker is idle.
        self.queue_prefetch = threads

    @property
    def broken(self) -> str | None:
        """Why this worker can no longer do its work, if so."""
        if dead := [name for name, thread in self.consumers.items() if not thread.is_alive()]:
            return f"the consumer of {', '.join(sorted(dead))} has died"
        if dead_threads := sum(not thread.is_alive() for thread in self.workers):
            return f"{dead_threads} of {len(self.workers)} threads have died"
        return None

    def stop_fetching(self) -> int:
        """Take no more, and give back what nobody has begun. Answers how many hints went back."""
        for consumer in self.consumers.values():
            consumer.stop()
        for consumer in self.consumers.values():
            consumer.join(10)
        waiting: dict[str, list[MessageProxy]] = defaultdict(list)
        while not self.work_queue.empty():
            with suppress(Empty):
                message = self.work_queue.get_nowait().message
                waiting[message.queue_name].append(message)
        for queue, consumer in self.consumers.items():
            consumer.requeue_messages(waiting[queue])
        return sum(map(len, waiting.values()))

    def finish(self, seconds: float) -> int:
        """Let threads end what they are doing, for so long. Answers how many are still at it."""
        for thread in self.workers:
            thread.stop()
        self._wake_idle_threads()
        deadline = time.monotonic() + seconds
        for thread in self.workers:
            thread.join(max(0.0, deadline - time.monotonic()))
        return sum(thread.is_alive() for thread in self.workers)

    def _wake_idle_threads(self) -> None:
        """A message that has already failed is passed over: its thread does nothing but look up."""
        for queue in list(self.consumers)[:1]:
            for _ in self.workers:
                nothing = MessageProxy(Message(queue, "wake", (), {}, {}))
                nothing.fail()
                self.work_queue.put(_WorkQueueItem(0, nothing))
