"""Contacts who write, change their mind and take back; operators who steer; an upstream app that insists.

Everything that was answered is kept: the invariants hold the product to it.
"""

import asyncio
import random
from collections import Counter
from dataclasses import dataclass, field
from itertools import count
from typing import Any

import httpx2

from tests.stack import ADMIN_KEY, Stack
from tests.upstream import SECRET

ORGANISATIONS = 4
AGAIN_SECONDS = 0.3
PATIENCE_SECONDS = 150.0
TEXTS = (
    "coucou, ça va ?",
    "tu fais quoi ce soir ?",
    "j'ai passé une bonne journée",
    "raconte-moi ton week-end",
    "il fait beau ici",
    "tu aimes la musique ?",
)
ASKS_TO_HEAR = "tu m'envoies un vocal ?"
ACTS = {"cancel": 3, "edit": 3, "approve": 3, "takeover": 2}
PAUSES = (0.05, 0.3, 1.0, 3.0, 6.0)

Answer = httpx2.Response


@dataclass(frozen=True)
class Act:
    """What an operator did, and what they were told. No `status`: no answer came."""

    kind: str
    conversation: str
    job: str
    status: int | None
    answer: dict[str, Any]


@dataclass
class Habits:
    """Shares in 1: how often a message is changed, deleted, a voice asked for, and an operator does something."""

    edits: float = 0.08
    deletes: float = 0.05
    voices: float = 0.04
    acts: float = 0.2


CALM = Habits(0, 0, 0, 0)


@dataclass
class Load:
    stack: Stack
    seed: int
    conversations: int
    seconds: float
    """In which the conversations begin."""
    habits: Habits = field(default_factory=Habits)
    prefix: str = "c"
    """Of the conversations' names: the same load may be run twice."""
    accepted: dict[str, str] = field(default_factory=dict)
    """Conversation by message: every message that was answered with 2xx."""
    acts: list[Act] = field(default_factory=list)
    odd: list[str] = field(default_factory=list)
    """Answers that no upstream app should see."""
    stats: Counter[str] = field(default_factory=Counter)

    @property
    def talks(self) -> set[str]:
        return {f"{self.prefix}{number}" for number in range(self.conversations)}

    def provision(self) -> None:
        for number in range(ORGANISATIONS):
            limits = {"limits": {"in_flight": 64}}
            quick: dict[str, Any] = {
                "control_window_seconds": 0.6,
                "debounce": {"quiet_seconds": 0.4, "max_wait_seconds": 2},
            }
            self.stack.provision(f"org-{number}", {**limits, "webhook": self._webhook()}, quick)

    def _webhook(self) -> dict[str, str]:
        return {"url": self.stack.receiver.url, "secret": SECRET}

    async def run(self) -> None:
        limits = httpx2.Limits(max_connections=64, max_keepalive_connections=32)
        async with httpx2.AsyncClient(base_url=self.stack.url, timeout=6, limits=limits) as client:
            talks = (Talk(self, client, number) for number in range(self.conversations))
            await asyncio.gather(*(talk.run() for talk in talks))


class Talk:
    """One conversation, from its beginning to its last word."""

    def __init__(self, load: Load, client: httpx2.AsyncClient, number: int) -> None:
        self._load, self._client = load, client
        self._chance = random.Random(f"talk {load.seed} {number}")
        self._org = f"org-{number % ORGANISATIONS}"
        self.name = f"{load.prefix}{number}"
        self._names = count(1)

    async def run(self) -> None:
        chance, load = self._chance, self._load
        await asyncio.sleep(chance.uniform(0, load.seconds))
        for _ in range(chance.randint(2, 4)):
            asks = chance.random() < load.habits.voices
            name, job = await self._say(ASKS_TO_HEAR if asks else chance.choice(TEXTS))
            await asyncio.sleep(chance.choice(PAUSES[:2]))
            if chance.random() < load.habits.edits:
                await self._change("PATCH", name, {"text": f"je voulais dire : {chance.choice(TEXTS)}"})
            elif chance.random() < load.habits.deletes:
                await self._change("DELETE", name, None)
            if job is not None and chance.random() < load.habits.acts:
                await self._steer(chance.choices(list(ACTS), list(ACTS.values()))[0], job)
            await asyncio.sleep(chance.choice(PAUSES))

    async def _say(self, text: str) -> tuple[str, str | None]:
        name = f"{self.name}-m{next(self._names)}"
        body = {"id": name, "conversation": self.name, "persona": "maya", "author": "contact", "text": text}
        contact = {"id": f"fan-{self.name}", "name": "Léo", "locale": "fr", "timezone": "Europe/Paris"}
        answer = await self._insist("POST", "/v1/messages", {**body, "contact": contact}, (202,))
        if answer is None:
            return name, None
        self._load.accepted[name] = self.name
        self._load.stats["message"] += 1
        return name, answer.json()["job"]

    async def _change(self, method: str, message: str, body: dict[str, Any] | None) -> None:
        if await self._insist(method, f"/v1/messages/{message}", body, (202,)):
            self._load.stats["deleted" if body is None else "edited"] += 1

    async def _steer(self, kind: str, job: str) -> None:
        await asyncio.sleep(self._chance.uniform(0, 2))
        if kind == "edit":
            await self._edit(job)
        elif kind == "takeover":
            await self._act("takeover", "", "POST", f"/v1/conversations/{self.name}/takeover")
            await asyncio.sleep(self._chance.uniform(0.1, 2))
            await self._insist("POST", f"/v1/conversations/{self.name}/resume", None, (200, 409))
        else:
            await self._act(kind, job, "POST", f"/v1/jobs/{job}/{kind}")

    async def _edit(self, job: str) -> None:
        for _ in range(10):
            answer = await self._once("GET", f"/v1/jobs/{job}", None)
            found = answer.json() if answer is not None and answer.status_code == 200 else {}
            held = [c for c in found.get("candidates", []) if c["state"] == "held" and c["kind"] == "text"]
            if held or found.get("outcome"):
                break
            await asyncio.sleep(0.15)
        else:
            return
        if held:
            text = f"{held[0]['text']} ({next(self._names)})"
            await self._act("edit", job, "PATCH", f"/v1/candidates/{held[0]['id']}", {"text": text})

    async def _act(self, kind: str, job: str, method: str, path: str, body: dict[str, Any] | None = None) -> None:
        answer = await self._once(method, path, body)
        told = answer.json() if answer is not None and answer.status_code == 200 else {}
        status = None if answer is None else answer.status_code
        self._load.stats[f"{kind} {status}"] += 1
        if status not in (None, 200, 404, 409, 503):
            self._load.odd.append(f"{method} {path}: {status}")
        self._load.acts.append(Act(kind, self.name, job, status, told))

    async def _insist(
        self, method: str, path: str, body: dict[str, Any] | None, done: tuple[int, ...]
    ) -> Answer | None:
        """As an upstream app does: the same again until it was taken. None: it never was, and that is odd."""
        end = asyncio.get_running_loop().time() + PATIENCE_SECONDS
        while asyncio.get_running_loop().time() < end:
            answer = await self._once(method, path, body)
            if answer is not None and answer.status_code in done:
                return answer
            self._load.stats["asked again"] += 1
            if answer is not None and answer.status_code not in (429, 503):
                self._load.odd.append(f"{method} {path}: {answer.status_code} {answer.text[:300]}")
                return None
            await asyncio.sleep(AGAIN_SECONDS)
        self._load.odd.append(f"{method} {path}: not taken within {PATIENCE_SECONDS:.0f} s")
        return None

    async def _once(self, method: str, path: str, body: dict[str, Any] | None) -> Answer | None:
        """None: nobody answered."""
        headers = {"authorization": f"Bearer {ADMIN_KEY}", "x-organization": self._org}
        try:
            return await self._client.request(method, path, json=body, headers=headers)
        except httpx2.TransportError:
            return None
