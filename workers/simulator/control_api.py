"""`/_sim`: what a test sets up and asks.

- POST scripts: `{"turns": [turn], "match"?, "task"?, "repeat"?}`, a turn being
  `{"text"?, "calls"?, "json"?, "raw"?, "stop"?, "fault"?, "delay"?}`
- POST faults: `{"kind", "next"?, "seconds"?, "time"?, "task"?, "model"?, "match"?, "delay"?, "retry_after"?}`
- POST clock: `{"advance": seconds}`
- POST reset: all as new, the clock too
- GET requests: `?since=n&task=…&refused=true`
- GET usage

A task is "review" for requests whose `output_config.format` asks for a verdict, "auxiliary" for those with another
format, else "reply". Wrong fields are a 400.
"""

import json
from collections.abc import Awaitable, Callable
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from workers.simulator.fields import optional, refuse_unknown
from workers.simulator.scripts import Script
from workers.simulator.state import Simulator

FAULT_FIELDS = frozenset({"kind", "next", "seconds", "time", "task", "model", "match", "delay", "retry_after"})


def control_routes(simulator: Simulator) -> list[Route]:
    control = Control(simulator)
    return [
        Route("/_sim/scripts", _guarded(control.add_script), methods=["POST"]),
        Route("/_sim/faults", _guarded(control.add_fault), methods=["POST"]),
        Route("/_sim/clock", _guarded(control.advance), methods=["POST"]),
        Route("/_sim/reset", _guarded(control.reset), methods=["POST"]),
        Route("/_sim/requests", control.requests),
        Route("/_sim/usage", control.usage),
    ]


class Control:
    """One method per route."""

    def __init__(self, simulator: Simulator) -> None:
        self._simulator = simulator

    def add_script(self, fields: dict[str, Any]) -> dict[str, Any]:
        script = Script.of(fields)
        self._simulator.scripts.add(script)
        return {"id": script.id}

    def add_fault(self, fields: dict[str, Any]) -> dict[str, Any]:
        refuse_unknown(fields, FAULT_FIELDS)
        self._simulator.outages.add(fields)
        return {"waiting": len(self._simulator.outages)}

    def advance(self, fields: dict[str, Any]) -> dict[str, Any]:
        refuse_unknown(fields, frozenset({"advance"}))
        return {"now": self._simulator.clock.advance(optional(fields, "advance", float, 0.0))}

    def reset(self, fields: dict[str, Any]) -> dict[str, Any]:
        self._simulator.reset()
        return {}

    async def requests(self, request: Request) -> Response:
        """`since` (number of the last one known), `task`, `refused` (true or false) narrow the list."""
        query = request.query_params
        refused = {"true": True, "false": False}.get(query.get("refused", ""))
        since = int(query.get("since", "0"))
        rows = self._simulator.journal.since(since, query.get("task"), refused)
        return JSONResponse({"requests": rows})

    async def usage(self, request: Request) -> Response:
        journal = self._simulator.journal
        return JSONResponse(
            {
                **journal.totals.as_json(),
                "by_task": journal.by_task,
                "by_model": journal.by_model,
                "script_turns_left": self._simulator.scripts.left(),
                "now": self._simulator.clock.now(),
            }
        )


def _guarded(change: Callable[[dict[str, Any]], dict[str, Any]]) -> Callable[[Request], Awaitable[Response]]:
    async def endpoint(request: Request) -> Response:
        try:
            fields = json.loads(await request.body() or b"{}")
            if not isinstance(fields, dict):
                raise ValueError("expected an object")
            return JSONResponse(change(fields))
        except ValueError as error:
            return JSONResponse({"error": str(error)}, 400)

    return endpoint
