"""Bind a kind of hint to the function that handles it. Importing a handler touches no broker."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import dramatiq
from structlog.contextvars import bound_contextvars

from schemas.errors import Unavailable
from schemas.jobs import Hint
from workers.bootstrap import App
from workers.runtime.leases import LeaseLost
from workers.runtime.logging import logger
from workers.runtime.loop import EventLoop

log = logger(__name__)

H = TypeVar("H", bound=Hint)
Handler = Callable[[H, App], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Actor(Generic[H]):
    hint: type[H]
    handler: Handler[H]

    async def __call__(self, hint: H, app: App) -> None:
        """The bare handler, with what it raises."""
        await self.handler(hint, app)

    async def perform(self, hint: H, app: App) -> None:
        """As the queue runs it: never raises. The row is the truth; what went wrong here, its lease brings back."""
        with bound_contextvars(actor=hint.name, **hint.model_dump()):
            try:
                await self.handler(hint, app)
            except LeaseLost:
                log.info("lease_lost")
            except asyncio.CancelledError:
                log.info("stopped")
            except Unavailable as error:
                log.warning("database_away", reason=error.sentence)
            except Exception:
                log.exception("fault")

    def declare(self, broker: dramatiq.Broker, loop: EventLoop, app: App) -> None:
        def receive(hint: H) -> None:
            loop.run(self.perform(hint, app))

        dramatiq.actor(broker=broker, actor_name=self.hint.name, queue_name=self.hint.queue.value)(receive)


def handles(hint: type[H]) -> Callable[[Handler[H]], Actor[Any]]:
    return lambda handler: Actor(hint, handler)
