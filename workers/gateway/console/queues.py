"""The machine, breathing: what waits, what is in hand, how late it is; and a check-up on demand."""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from starlette.responses import Response
from starlette.routing import Route

from schemas.access import Role
from schemas.ids import OrgId
from schemas.queues import QueueOut
from workers.gateway.console.plots import sparkline
from workers.gateway.console.render import respond
from workers.gateway.console.visits import Visit, open_to

_KEPT = 60
_APART_SECONDS = 1.5


@dataclass(slots=True)
class Pulse:
    """The last depths of each queue, as open pages have seen them; of this process alone."""

    looked_at: float = float("-inf")
    depths: dict[str, deque[int]] = field(default_factory=dict)

    def note(self, queues: Sequence[QueueOut], now: float) -> None:
        if now - self.looked_at < _APART_SECONDS:
            return
        self.looked_at = now
        for queue in queues:
            self.depths.setdefault(queue.queue, deque(maxlen=_KEPT)).append(queue.due + queue.in_flight)


_pulses: dict[OrgId | None, Pulse] = {}


@open_to(Role.OPS, scoped=False)
async def queues(visit: Visit) -> Response:
    return visit.page("queues.html", page="queues", findings=None, **await _facts(visit))


@open_to(Role.OPS, scoped=False)
async def queues_part(visit: Visit) -> Response:
    return respond(visit.render("queues_part.html", **await _facts(visit)))


@open_to(Role.OPS, scoped=False)
async def examine(visit: Visit) -> Response:
    found = await visit.parts.doctor.examine()
    return visit.page("queues.html", page="queues", findings=found, **await _facts(visit))


async def _facts(visit: Visit) -> dict[str, Any]:
    found = await visit.parts.counter.queues(visit.session.org)
    pulse = _pulses.setdefault(visit.session.org, Pulse())
    pulse.note(found, visit.session.now.timestamp())
    lines = {queue: sparkline(depths) for queue, depths in pulse.depths.items()}
    redis = await visit.parts.redis()
    return {"queues": found, "lines": lines, "redis": redis}


ROUTES = [
    Route("/queues", queues, methods=["GET"]),
    Route("/queues/part", queues_part, methods=["GET"]),
    Route("/queues/check-up", examine, methods=["POST"]),
]
