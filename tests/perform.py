"""Run one actor the way the queue would, without a queue."""

from typing import Any

from schemas.jobs import Hint
from workers.actors.handles import Actor
from workers.bootstrap import App
from workers.runtime import wire


async def perform(actor: Actor[Any], hint: Hint, app: App) -> None:
    """The hint crosses the wire on the way, so what cannot travel fails here. What the handler raises comes out."""
    _, message = wire.encode(hint)
    await actor(actor.hint.model_validate(wire.decode(message, {actor.hint.name: actor.hint}).model_dump()), app)
