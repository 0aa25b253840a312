"""The clock's process."""

import asyncio
import signal
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack, suppress

from schemas.errors import Unavailable
from schemas.settings import Settings
from workers.adapters.clock import SystemClock
from workers.adapters.files.wanted import FilesWhenWanted
from workers.adapters.postgres.database import Database
from workers.adapters.postgres.dispatch import Dispatch
from workers.adapters.postgres.fitting import schema_fits
from workers.adapters.postgres.paces import Paces
from workers.adapters.postgres.rights import Rights
from workers.adapters.postgres.totals import Totals
from workers.adapters.postgres.transitions import Transitions
from workers.adapters.postgres.unheard import Unheard
from workers.adapters.redis.board import RedisBoard
from workers.adapters.redis.courier import RedisCourier
from workers.clock.look import Look, Seen
from workers.clock.pace import Pace
from workers.clock.sweep import Sweeper
from workers.runtime.addresses import database_address, redis_address
from workers.runtime.logging import configure, logger
from workers.runtime.loop import new_event_loop
from workers.runtime.outage import Outage

log = logger(__name__)

CONNECTIONS = 3
FOLD_SECONDS = 5.0
"""What was tallied since goes into the running sums this often: a few hundred rows, not yet worth a vacuum."""
SWEEP_SECONDS = 1.0
"""Nothing is to be erased: looked for again then."""
BREATH_SECONDS = 0.02
"""Between two batches: whoever waits for what the first had locked comes in between."""
PACE_SECONDS = 60.0
"""How fast contacts write is counted this often, of each persona once an hour."""
UNHEARD_SECONDS = 60.0
"""Calls that were cut off are looked for this often: they are a quarter of an hour old before they count as such."""
INSTANCE = "clock"
"""It leases nothing."""


def run_clock(settings: Settings) -> None:
    """Look until SIGTERM or SIGINT. Raises SettingsRefused when a server's address is missing."""
    configure(settings.log_level, settings.log_json)
    database_address(settings)
    redis_address(settings)
    with asyncio.Runner(loop_factory=new_event_loop) as runner:
        runner.run(_until_told(settings))


async def keep_looking(settings: Settings, stop: asyncio.Event) -> None:
    """Survives any outage of PostgreSQL and Redis; nothing is lost by one, only late."""
    if not await schema_fits(database_address(settings), stop.is_set):
        return
    async with AsyncExitStack() as stack:
        database = Database(database_address(settings), CONNECTIONS, settings.pg_prepare)
        stack.push_async_callback(database.close)
        redis = redis_address(settings)
        courier, board = RedisCourier.of_a_clock(redis), RedisBoard(redis)
        stack.push_async_callback(courier.close)
        stack.push_async_callback(board.close)
        rows = Dispatch(database, settings.queue.admission_batch)
        follow_ups = Transitions(database, settings, courier, INSTANCE)
        look = Look(rows, follow_ups, board, courier, SystemClock(), settings.queue)
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(_look_again_and_again(look, Pace(settings.queue.look_seconds), stop))
            sweeper = Sweeper(Rights(database, settings, courier, INSTANCE), FilesWhenWanted(settings))
            tasks.create_task(_sweep_again_and_again(sweeper, stop))
            tasks.create_task(_again_and_again(Totals(database).fold, FOLD_SECONDS, stop))
            tasks.create_task(_again_and_again(Paces(database).count, PACE_SECONDS, stop))
            tasks.create_task(_again_and_again(Unheard(database).settle, UNHEARD_SECONDS, stop))


async def _look_again_and_again(look: Look, pace: Pace, stop: asyncio.Event) -> None:
    outage = Outage(log, "database", part="clock")
    while not stop.is_set():
        seen = await _seen(look, outage)
        rest = pace.after(seen.pushed, seen.ahead) if seen else pace.after_failure()
        await _rest(stop, rest)


async def _again_and_again(count: Callable[[], Awaitable[int]], seconds: float, stop: asyncio.Event) -> None:
    """Whether it is late or fails changes no number: what is not folded is read as it is."""
    while not stop.is_set():
        try:
            await count()
        except Unavailable:
            log.debug("not_counted")  # the looks tell of the outage
        except Exception:
            log.exception("fault")
        await _rest(stop, seconds)


async def _sweep_again_and_again(sweeper: Sweeper, stop: asyncio.Event) -> None:
    """What a failure leaves undone is found by the next batch."""
    while not stop.is_set():
        more = False
        try:
            more = await sweeper()
        except Unavailable:
            log.debug("not_swept")  # the looks tell of the outage
        except Exception:
            log.exception("fault")
        await _rest(stop, BREATH_SECONDS if more else SWEEP_SECONDS)


async def _rest(stop: asyncio.Event, seconds: float) -> None:
    with suppress(TimeoutError):
        await asyncio.wait_for(stop.wait(), seconds)


async def _seen(look: Look, outage: Outage) -> Seen | None:
    try:
        seen = await look()
    except Unavailable as error:
        outage.began(error)
        return None
    except Exception:
        log.exception("fault")
        return None
    outage.ended()
    return seen


async def _until_told(settings: Settings) -> None:
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    log.info("clock_started", look_seconds=settings.queue.look_seconds)
    await keep_looking(settings, stop)
    log.info("clock_stopped")
