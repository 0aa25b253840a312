"""The control API as a client: what a test uses to script the model, break it, and read what it saw."""

import json
import ssl
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

import httpx2


@dataclass(frozen=True, slots=True)
class SeenRequest:
    """One request as the simulator kept it. `at` in virtual seconds; `body` is the exact text sent."""

    n: int
    request_id: str
    at: float
    time: str
    path: str
    headers: dict[str, str]
    body: str
    task: str | None
    model: str | None
    stream: bool
    status: int
    refused: str | None
    fault: str | None
    script: int | None
    usage: dict[str, Any] | None
    answer: dict[str, Any] | None

    def json(self) -> dict[str, Any]:
        parsed: dict[str, Any] = json.loads(self.body)
        return parsed


class ControlRefused(Exception):
    """The control API did not take a script, fault or clock change; the text says which field."""


class SimulatorControl:
    """Async; close it, or use it as a context manager. Needs no loop until the first call."""

    def __init__(self, base_url: str) -> None:
        # Plain HTTP needs no authorities, and loading them costs 50 ms per client.
        nobody = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        self._http = httpx2.AsyncClient(base_url=base_url, timeout=10.0, verify=nobody)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        await self._http.aclose()

    async def script(
        self, *turns: dict[str, Any], match: str | None = None, task: str | None = None, repeat: bool = False
    ) -> int:
        """Queue turns for requests whose text holds `match`; the script's number, as requests name it."""
        fields = {"turns": list(turns), "match": match, "task": task, "repeat": repeat}
        return int((await self._post("/_sim/scripts", fields))["id"])

    async def fault(
        self,
        kind: str,
        *,
        next: int | None = None,
        seconds: float | None = None,
        real_time: bool = False,
        task: str | None = None,
        model: str | None = None,
        match: str | None = None,
        delay: float | None = None,
        retry_after: float | None = None,
    ) -> None:
        """Break the next request, the `next` ones, or all for `seconds`, of a task, model prefix or text."""
        aim = {"next": next, "seconds": seconds, "task": task, "model": model, "match": match}
        how = {"kind": kind, "delay": delay, "retry_after": retry_after}
        await self._post("/_sim/faults", {**how, **aim, "time": "real" if real_time else "virtual"})

    async def advance(self, seconds: float) -> float:
        """Let time pass for caches and faults; the new virtual time in seconds."""
        return float((await self._post("/_sim/clock", {"advance": seconds}))["now"])

    async def reset(self) -> None:
        """As new: no scripts, faults, cache or memory of requests."""
        await self._post("/_sim/reset", {})

    async def requests(
        self, *, since: int = 0, task: str | None = None, refused: bool | None = None
    ) -> list[SeenRequest]:
        """What was seen after request number `since`, oldest first."""
        query = {
            "since": str(since),
            "task": task,
            "refused": None if refused is None else str(refused).lower(),
        }
        answer = await self._http.get(
            "/_sim/requests", params={name: value for name, value in query.items() if value is not None}
        )
        return [SeenRequest(**row) for row in answer.json()["requests"]]

    async def refusals(self) -> list[str]:
        """The API's sentence for every request it would not run; empty is what a product wants."""
        return [seen.refused for seen in await self.requests(refused=True) if seen.refused is not None]

    async def usage(self) -> dict[str, Any]:
        """Totals since the last reset: requests, refusals, faults, tokens by kind, by task and by model."""
        totals: dict[str, Any] = (await self._http.get("/_sim/usage")).json()
        return totals

    async def _post(self, path: str, fields: dict[str, Any]) -> dict[str, Any]:
        answer = await self._http.post(path, json=fields)
        body: dict[str, Any] = answer.json()
        if answer.status_code != 200:
            raise ControlRefused(body["error"])
        return body
