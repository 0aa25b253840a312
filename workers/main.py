"""A worker process: takes hints from its queues, runs actors on one event loop, drains when told to stop."""

import asyncio
import os
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from functools import partial
from threading import Event, Thread
from uuid import uuid4

from schemas.errors import Unavailable
from schemas.jobs import Queue
from schemas.settings import Settings
from workers import actors
from workers.actors.unreadable import keep_unreadable
from workers.adapters.clock import SystemClock
from workers.adapters.postgres.fitting import schema_fits
from workers.bootstrap import App, build_app, load_embeddings, replies_for
from workers.runtime.addresses import database_address, redis_address
from workers.runtime.broker import HintBroker
from workers.runtime.forks import Forks, process_name
from workers.runtime.logging import configure, logger
from workers.runtime.loop import EventLoop
from workers.runtime.stopping import Stop
from workers.runtime.watchdog import Watchdog
from workers.runtime.worker import HintWorker

log = logger(__name__)

LOOK_SECONDS = 0.25
END_SECONDS = 10.0
"""What a cancelled run may take to give its row back."""
AGAIN_SECONDS = 1.0


def run_worker(settings: Settings, queues: Collection[Queue], processes: int, threads: int) -> int:
    """Run until SIGTERM or SIGINT, then drain. Answers the exit code: 0 after a drain, 1 when something had died.

    Call it from the main thread. Raises SettingsRefused when a server's address is missing.
    """
    configure(settings.log_level, settings.log_json)
    database_address(settings)
    redis_address(settings)
    stop = Stop().listen()
    name = process_name(settings.instance)
    run = partial(_run_process, settings, queues, threads)
    if processes == 1:
        return run(stop, name, None)
    parent = os.getpid()
    replies_for(settings, SystemClock(), queues)  # refused here, and loaded, once for all children
    load_embeddings(settings, queues)

    def child(own_name: str, replaces: str | None) -> int:
        own = Stop(parent).listen()
        if stop.asked:  # asked between the fork and here: heard only by the copy of the parent's
            own.ask()
        return run(own, own_name, replaces)

    return Forks(processes, child, name, stop).run(settings.queue.drain_seconds)


def _run_process(
    settings: Settings,
    queues: Collection[Queue],
    threads: int,
    stop: Stop,
    name: str,
    replaces: str | None,
) -> int:
    loop = EventLoop()
    loop.start()
    if not loop.run(schema_fits(database_address(settings), lambda: stop.asked)):
        loop.stop()
        return 0
    wiring = build_app(settings, name, queues)
    app = loop.run(wiring.__aenter__())
    if replaces is not None:
        loop.submit(_release(app, replaces))
    broker, worker = start_worker(settings, queues, threads, loop, app)
    log.info("worker_started", instance=name, queues=sorted(queues), threads=threads)
    if not settings.agent.use_redaction_validation:
        log.warning("review_is_off", setting="REPLIQUE_AGENT__USE_REDACTION_VALIDATION", meant_for="tests")
    watchdog = Watchdog(loop, worker, settings.queue.lease_seconds)
    died = _watch(stop, watchdog)
    with _loop_still_watched(watchdog):
        left = drain(worker, loop, settings.queue.drain_seconds)
        loop.run(wiring.__aexit__(None, None, None))
    loop.stop()
    broker.close()
    log.info("worker_stopped", instance=name, left=left)
    return 1 if died or left else 0


def start_worker(
    settings: Settings, queues: Collection[Queue], threads: int, loop: EventLoop, app: App
) -> tuple[HintBroker, HintWorker]:
    """Consume the queues. What is no hint of theirs goes to the dead letters."""
    ours = [actor for actor in actors.ALL if actor.hint.queue in queues]

    def unreadable(queue: str, raw: bytes, error: str) -> None:
        loop.submit(keep_unreadable(app.storage, queue, raw, error, put_back))

    def put_back(queue: str, raw: bytes) -> None:
        broker.put(queue, [(uuid4().hex, raw)])

    broker = HintBroker(redis_address(settings), [actor.hint for actor in ours], unreadable)
    for queue in queues:
        broker.declare_queue(queue.value)
    for actor in ours:
        actor.declare(broker, loop, app)
    worker = HintWorker(broker, [queue.value for queue in queues], threads)
    worker.start()
    return broker, worker


def drain(worker: HintWorker, loop: EventLoop, seconds: float) -> int:
    """Stop fetching, give back, wait, then cancel what still runs: it gives its row back. Answers what is left."""
    back = worker.stop_fetching()
    log.info("draining", given_back=back, seconds=seconds)
    running = worker.finish(seconds)
    cancelled = loop.cancel_jobs()
    if running:
        log.warning("drain_over", cancelled=cancelled)
    return worker.finish(END_SECONDS)


def _watch(stop: Stop, watchdog: Watchdog) -> str | None:
    """Until a stop is asked for, or a part of the process has died: the reason."""
    while not stop.wait(LOOK_SECONDS):
        _end_with(watchdog)
        if reason := watchdog.worker_dead():
            log.critical("worker_broken", reason=reason)
            return reason
    return None


@contextmanager
def _loop_still_watched(watchdog: Watchdog) -> Iterator[None]:
    """A drain waits for the loop; one that no longer turns would keep the process until somebody kills it."""
    over = Event()

    def look() -> None:
        while not over.wait(LOOK_SECONDS):
            _end_with(watchdog)

    thread = Thread(target=look, name="watchdog", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def _end_with(watchdog: Watchdog) -> None:
    """The process ends at once when its loop is dead: nothing can be given back through it; the leases do it."""
    if reason := watchdog.loop_dead():
        log.critical("worker_dead", reason=reason)
        os._exit(1)


async def _release(app: App, instance: str) -> None:
    """What the process before this one held is due at once, as soon as the database hears of it."""
    while True:
        try:
            rows = await app.storage.release(instance)
        except Unavailable:
            await asyncio.sleep(AGAIN_SECONDS)
        else:
            log.info("leases_released", of=instance, rows=rows)
            return
