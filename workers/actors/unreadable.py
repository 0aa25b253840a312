"""A queue message that is no hint of ours becomes a dead letter, AR-570; it waits for the database if it must."""

import asyncio
from collections.abc import Callable

from pipelines.ops.letters import shown_message
from schemas.errors import Code, Unavailable
from workers.bootstrap import Storage
from workers.runtime.logging import logger

log = logger(__name__)

AGAIN_SECONDS = 2.0

PutBack = Callable[[str, bytes], None]


async def keep_unreadable(storage: Storage, queue: str, raw: bytes, error: str, put_back: PutBack) -> None:
    """`put_back` is called when this process is stopped before the database has it."""
    log.warning("unreadable_message", queue=queue, bytes=len(raw), reason=error, code=Code.QUEUE_MESSAGE)
    try:
        await _keep(storage, queue, *shown_message(raw), error)
    except asyncio.CancelledError:
        put_back(queue, raw)
        raise
    except Exception:
        log.exception("fault", queue=queue)


async def _keep(storage: Storage, queue: str, message: str, whole: bool, error: str) -> None:
    while True:
        try:
            return await storage.keep_unreadable(queue, message, error, whole)
        except Unavailable:
            await asyncio.sleep(AGAIN_SECONDS)
