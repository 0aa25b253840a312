"""What happens, told to every open page: one look at the database for all of them, one stream for each browser."""

import asyncio
import json
from collections import deque
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from schemas.errors import Unavailable
from schemas.ids import OrgId
from schemas.users import Session
from workers.adapters.postgres.sessions import Sessions
from workers.adapters.postgres.views.changes import RECENT_SECONDS, Changed, Changes
from workers.adapters.postgres.views.desk import Counts, Desk
from workers.gateway.console.render import HEADERS
from workers.gateway.console.visits import READS, Visit, cookie_name, open_to
from workers.runtime.logging import logger

KEEP_ALIVE_SECONDS = 15.0
GATHER_SECONDS = 0.25
"""What happens within this is told in one event."""

log = logger(__name__)


@dataclass(slots=True, eq=False)
class Listener:
    """One open page. What it has not been told yet is gathered, so a slow browser holds nobody up."""

    org: OrgId | None
    waiting: Changed = field(default_factory=Changed)
    counts: Counts | None = None
    bell: asyncio.Event = field(default_factory=asyncio.Event)

    def tell(self, changed: Changed, counts: Counts | None) -> None:
        self.waiting.add(changed)
        self.counts = counts
        self.bell.set()

    def take(self) -> tuple[Changed, Counts | None]:
        told, self.waiting = self.waiting, Changed()
        self.bell.clear()
        return told, self.counts


class Hub:
    """Looks while somebody listens, and only then. Belongs to one event loop."""

    def __init__(self, changes: Changes, desk: Desk, look_seconds: float) -> None:
        self._changes = changes
        self._desk = desk
        self._seconds = look_seconds
        self._listeners: set[Listener] = set()
        self._recent: deque[tuple[float, OrgId, Changed]] = deque()
        self._uncounted: set[OrgId] = set()
        self._looking: asyncio.Task[None] | None = None
        self.closed = asyncio.Event()

    @contextmanager
    def listening(self, org: OrgId | None) -> Iterator[Listener]:
        """Also told: what happened while its page was on its way, which shows how things stood before."""
        listener = Listener(org)
        for _, other, changed in self._recent:
            if org in (other, None):
                listener.tell(changed, None)
        self._listeners.add(listener)
        if self._looking is None:
            self._changes.forget()
            self._looking = asyncio.create_task(self._look())
        try:
            yield listener
        finally:
            self._listeners.discard(listener)
            if not self._listeners and self._looking is not None:
                self._looking.cancel()
                self._looking = None
                self._recent.clear()

    def close(self) -> None:
        """Ends every stream: the gateway stops."""
        self.closed.set()
        for listener in self._listeners:
            listener.bell.set()

    async def counts(self, org: OrgId) -> Counts | None:
        """None: the database does not answer. They are told as soon as it does."""
        try:
            return await self._desk.counts(org)
        except Unavailable:
            self._uncounted.add(org)
            return None

    async def _look(self) -> None:
        while True:
            try:
                await self._tell()
            except Unavailable:
                log.warning("console_look_failed")
            except Exception:
                log.exception("console_look_fault")  # the next one may well go: no page is to be still for ever
            await asyncio.sleep(self._seconds)

    async def _tell(self) -> None:
        now = asyncio.get_running_loop().time()
        while self._recent and self._recent[0][0] < now - RECENT_SECONDS:
            self._recent.popleft()
        found = await self._changes.since()
        self._recent.extend((now, org, changed) for org, changed in found.items())
        uncounted, self._uncounted = self._uncounted, set()
        for org in {*found, *uncounted}:
            listeners = [listener for listener in self._listeners if listener.org in (org, None)]
            if not listeners:
                continue
            counts = await self.counts(org)
            for listener in listeners:
                listener.tell(found.get(org, Changed()), counts if listener.org == org else None)


class Stream:
    """The events of one browser, until it goes, its session is over, or the gateway stops."""

    def __init__(
        self, hub: Hub, sessions: Sessions, session: Session, token: str, ask_seconds: float = KEEP_ALIVE_SECONDS
    ) -> None:
        self._hub = hub
        self._sessions = sessions
        self._session = session
        self._token = token
        self._ask_seconds = ask_seconds

    async def events(self) -> AsyncIterator[bytes]:
        with self._hub.listening(self._session.org) as listener:
            now, org = self._session.now, self._session.org
            counts = None if org is None else await self._hub.counts(org)
            yield _event({"now": round(now.timestamp() * 1000), **_shown(Changed(), counts)})
            time = asyncio.get_running_loop().time
            begun = asked = time()
            while not self._hub.closed.is_set():
                await _wait(listener.bell, asked + self._ask_seconds - time())
                if time() >= asked + self._ask_seconds:
                    if not await self._lives():
                        return
                    asked = time()
                told, counts = listener.take()
                passed = timedelta(seconds=time() - begun)
                yield _event({"now": round((now + passed).timestamp() * 1000), **_shown(told, counts)})
                await asyncio.sleep(GATHER_SECONDS)

    async def _lives(self) -> bool:
        """Asked now and then, however much happens: whoever was signed out is told nothing more within seconds."""
        try:
            found = await self._sessions.find(self._token, active=False)
        except Unavailable:
            return True
        return found is not None and found.org == self._session.org


async def _wait(bell: asyncio.Event, seconds: float) -> None:
    try:
        async with asyncio.timeout(seconds):
            await bell.wait()
    except TimeoutError:
        return


def _shown(told: Changed, counts: Counts | None) -> dict[str, Any]:
    shown: dict[str, Any] = {
        "jobs": sorted(told.jobs),
        "conversations": sorted(told.conversations),
        "names": sorted(told.names),
    }
    if counts is not None:
        shown["counts"] = {"window": counts.window, "attention": counts.attention, "letters": counts.letters}
    return shown


def _event(facts: dict[str, Any]) -> bytes:
    return f"data: {json.dumps(facts)}\n\n".encode()


@open_to(*READS, scoped=False)
async def stream(visit: Visit) -> Response:
    """Server-sent events: `now` in milliseconds, and what has changed: jobs, conversations, names, counts."""
    request = visit.request
    token = request.cookies.get(cookie_name(request), "")
    events = Stream(request.app.state.hub, visit.parts.sessions, visit.session, token).events()
    headers = {**HEADERS, "X-Accel-Buffering": "no"}
    return StreamingResponse(events, headers=headers, media_type="text/event-stream")


ROUTES = [Route("/live", stream, methods=["GET"])]
