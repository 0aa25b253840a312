"""Operators under stress: everything a person can do to replies and bubbles, and what they were promised."""

import collections
import itertools
import random
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

from schemas.errors import TooLate
from schemas.http import CandidatePatch
from tests.builders_storage import Storage

# Mostly what can still be changed, sometimes what cannot.
JOBS = """SELECT id FROM jobs WHERE state IN ('queued', 'running', 'held', 'sending')
OR id > (SELECT max(id) - 5 FROM jobs) ORDER BY id DESC LIMIT 12"""
BUBBLES = """SELECT id, version, ordinal FROM candidates WHERE state IN ('held', 'preparing', 'leaving')
OR id > (SELECT max(id) - 4 FROM candidates) ORDER BY id DESC LIMIT 12"""
ON_HOLD = "SELECT id FROM jobs WHERE on_hold AND state IN ('held', 'sending')"
DOUBLED = """SELECT job_id, ordinal FROM candidates WHERE state IN ('held', 'preparing', 'leaving', 'sent')
GROUP BY job_id, ordinal HAVING count(*) > 1"""
OWED = "SELECT k.id FROM candidates k JOIN jobs j ON j.id = k.job_id WHERE j.id = {job} AND j.kind = 'delivery'"
ACTS = {
    "approve": 4,
    "cancel": 2,
    "hold": 2,
    "release": 3,
    "edit": 4,
    "drop": 1,
    "reorder": 2,
    "regenerate": 1,
    "retry": 3,
    "dismiss": 1,
    "resume": 4,
    "takeover": 1,
    "consent": 3,
    "reopen": 4,
}
FEW_ACTS = {"approve": 2, "cancel": 1, "resume": 2, "consent": 3, "reopen": 4}
"""For a run that looks for what two workers do to each other."""
WHO = "zoe"


class Operators:
    def __init__(
        self, storage: Storage, conversations: int, stats: collections.Counter[str], acts: dict[str, int]
    ) -> None:
        self.storage = storage
        self.acts = acts
        self.conversations = conversations
        self.stats = stats
        self.stopped: set[int] = set()
        """Bubbles of which somebody was told that they will not leave."""
        self.owed: set[int] = set()
        """Bubbles that were paid for, of a delivery that was retried: what was stopped of it leaves after all."""
        self.written: dict[int, dict[int, str]] = collections.defaultdict(dict)
        """By bubble: the words that were accepted, by the version that was edited."""
        self.wrong: list[str] = []
        self._names = itertools.count()

    async def act(self, chance: random.Random) -> None:
        """One thing, on something recent. Raises what the storage raises: most often it is too late."""
        (name,) = chance.choices(list(self.acts), list(self.acts.values()))
        turn: Callable[[random.Random], Awaitable[bool]] = getattr(self, f"_{name}", None) or self._plain(name)
        if await turn(chance):
            self.stats[name] += 1

    async def let_go(self) -> None:
        """Nothing stays on hold."""
        for row in await self.storage.rows(ON_HOLD):
            with suppress(TooLate):
                await self.storage.transitions.release_hold(self.storage.org, row["id"], WHO)

    async def crowded(self) -> list[str]:
        return [f"two bubbles in one place: {row}" for row in await self.storage.rows(DOUBLED)]

    def _plain(self, name: str) -> Callable[[random.Random], Awaitable[bool]]:
        """A call that names a job and answers nothing."""
        call = getattr(self.storage.transitions, {"release": "release_hold"}.get(name, name))
        jobs = ON_HOLD if name == "release" else JOBS

        async def turn(chance: random.Random) -> bool:
            if job := await self._pick(chance, jobs):
                await call(self.storage.org, job["id"], WHO)
            return job is not None

        return turn

    async def _pick(self, chance: random.Random, sql: str) -> dict[str, Any] | None:
        rows = await self.storage.rows(sql)
        return chance.choice(rows) if rows else None

    async def _cancel(self, chance: random.Random) -> bool:
        if job := await self._pick(chance, JOBS):
            answer = await self.storage.transitions.cancel(self.storage.org, job["id"], WHO)
            self.stopped.update(number for number, state in answer.items() if state == "recalled")
        return job is not None

    async def _retry(self, chance: random.Random) -> bool:
        if job := await self._pick(chance, JOBS):
            await self.storage.transitions.retry(self.storage.org, job["id"], WHO)
            self.owed.update(row["id"] for row in await self.storage.rows(OWED.format(job=job["id"])))
        return job is not None

    async def _regenerate(self, chance: random.Random) -> bool:
        if job := await self._pick(chance, JOBS):
            await self.storage.transitions.regenerate(self.storage.org, job["id"], WHO, "plus court")
        return job is not None

    async def _dismiss(self, chance: random.Random) -> bool:
        if job := await self._pick(chance, JOBS):
            await self.storage.transitions.dismiss(self.storage.org, job["id"], "seen", WHO)
        return job is not None

    async def _edit(self, chance: random.Random) -> bool:
        bubble = await self._pick(chance, BUBBLES)
        if bubble is None:
            return False
        words, version = f"edited {next(self._names)}", bubble["version"]
        patch = CandidatePatch(text=words, version=version)
        await self.storage.transitions.edit_candidate(self.storage.org, bubble["id"], patch, WHO)
        if self.written[bubble["id"]].setdefault(version, words) != words:
            self.wrong.append(f"version {version} of bubble {bubble['id']} was edited twice")
        return True

    async def _reorder(self, chance: random.Random) -> bool:
        if bubble := await self._pick(chance, BUBBLES):
            patch = CandidatePatch(ordinal=max(0, bubble["ordinal"] + chance.choice((-1, 1))))
            await self.storage.transitions.edit_candidate(self.storage.org, bubble["id"], patch, WHO)
        return bubble is not None

    async def _drop(self, chance: random.Random) -> bool:
        if bubble := await self._pick(chance, BUBBLES):
            await self.storage.transitions.drop_candidate(self.storage.org, bubble["id"], WHO)
            self.stopped.add(bubble["id"])
        return bubble is not None

    async def _resume(self, chance: random.Random) -> bool:
        await self.storage.transitions.resume(self.storage.org, f"c-{chance.randrange(self.conversations)}", WHO)
        return True

    async def _takeover(self, chance: random.Random) -> bool:
        await self.storage.transitions.takeover(self.storage.org, f"c-{chance.randrange(self.conversations)}", WHO)
        return True

    async def _consent(self, chance: random.Random) -> bool:
        place = f"c-{chance.randrange(self.conversations)}"
        await self.storage.transitions.consent(self.storage.org, place, WHO, "form")
        return True

    async def _reopen(self, chance: random.Random) -> bool:
        """Now one of two people, now the other."""
        place, who = f"c-{chance.randrange(self.conversations)}", chance.choice((WHO, "yann"))
        await self.storage.transitions.reopen(self.storage.org, place, who, "a typo")
        return True

    def broken(self, applied: set[int], bodies: dict[int, str]) -> list[str]:
        """Promises that the receiver did not see kept. `bodies`: what was sent, by bubble."""
        found = [
            *self.wrong,
            *(f"stopped and yet applied: {number}" for number in applied & (self.stopped - self.owed)),
        ]
        for bubble, versions in self.written.items():
            words = versions[max(versions)]
            if bubble in bodies and f'"text":"{words}"' not in bodies[bubble]:
                found.append(f"bubble {bubble} left without its last edit: {words}")
        return found
