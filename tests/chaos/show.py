"""One run: load and plan go their way side by side, all is mended, comes to rest, and is held to the invariants."""

import asyncio
import signal
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial

from tests.chaos import invariants
from tests.chaos.evidence import Evidence, gather
from tests.chaos.load import Load
from tests.chaos.plan import Fault, Kind, counted
from tests.chaos.receiver import Mood
from tests.chaos.stage import Stage
from tests.proxy import Mode

PROGRESS_SECONDS = 10.0
REST_SECONDS = 150.0
SLOW_SECONDS = 0.005
LEFT = """SELECT (SELECT count(*) FROM jobs WHERE state IN ('queued', 'running', 'held', 'sending'))
+ (SELECT count(*) FROM deliveries WHERE state IN ('posting', 'waiting'))
+ (SELECT count(*) FROM chores WHERE lease_until IS NOT NULL OR due_at < clock_timestamp() + interval '20 s') AS n"""

MOODS = {
    Kind.RECEIVER_SLOW: Mood.SLOW,
    Kind.RECEIVER_FAILS: Mood.FAILS,
    Kind.RECEIVER_HANGS: Mood.HANGS,
    Kind.RECEIVER_SILENT: Mood.SILENT,
}
MODES = {"cut": Mode.CUT, "frozen": Mode.FREEZE, "slow": Mode.SLOW}


@dataclass
class Result:
    evidence: Evidence
    violations: list[str]
    load: Load
    seconds: float

    def row(self) -> dict[str, object]:
        seen = self.evidence
        kinds = counted(seen.plan)
        kills = {name.split()[1]: n for name, n in sorted(kinds.items()) if name.startswith("kill ")}
        talks = {row["id"] for row in seen.conversations if row["name"] in self.load.talks}
        return {
            "seed": self.load.seed,
            "conversations": len(talks),
            "messages": len(seen.accepted),
            "bubbles": sum(bubble.conversation in self.load.talks for bubble in seen.first_applied()),
            "jobs": sum(job["conversation_id"] in talks for job in seen.jobs),
            "calls": len(seen.attempts),
            "kills": " ".join(f"{name} {n}" for name, n in kills.items()),
            "flushes": kinds[Kind.FLUSH],
            "others": sum(n for name, n in kinds.items() if not name.startswith("kill ") and name != Kind.FLUSH),
            "seconds": round(self.seconds),
            "unknown": len(invariants.unheard_calls(seen)),
            "letters": len(seen.letters),
            "violations": len(self.violations),
        }


def table(results: Sequence[Result]) -> str:
    rows = [result.row() for result in results]
    names = list(rows[0])
    cells = [names, *([str(row[name]) for name in names] for row in rows)]
    widths = [max(len(line[n]) for line in cells) for n in range(len(names))]
    return "\n".join("  ".join(cell.rjust(width) for cell, width in zip(line, widths, strict=True)) for line in cells)


@dataclass
class Show:
    stage: Stage
    load: Load
    plan: Sequence[Fault]
    say: Callable[[str], None] = print
    _began: float = field(default_factory=time.monotonic)
    _said: float = 0.0
    _unwell: list[str] = field(default_factory=list)

    def run(self) -> Result:
        self.say(f"seed {self.load.seed}: {self.load.conversations} conversations, the plan:")
        self.say("\n".join(map(str, self.plan)))
        self.load.provision()
        self._began = time.monotonic()
        talking = threading.Thread(target=self._talk, name="load")
        talking.start()
        self._perform()
        while talking.is_alive():
            self._wait(0.2)
        self._come_to_rest()
        seen = gather(self.stage, self.load, self.plan)
        seen.odd += self._unwell
        took = time.monotonic() - self._began
        return Result(seen, invariants.violations(seen), self.load, took)

    def _talk(self) -> None:
        try:
            asyncio.run(self.load.run())
        except Exception as error:  # noqa: BLE001  (told, or nobody would know that the load broke off)
            self.load.odd.append(f"the load broke off: {error!r}")

    def _perform(self) -> None:
        """Every fault begins and ends in its time; servers that take long to come back make the rest late."""
        acts: list[tuple[float, int, Callable[[], None]]] = []
        for number, fault in enumerate(self.plan):
            begin, end = self._acts(fault)
            acts += [(fault.at, number, begin), (fault.over, number, end)]
        for at, _, act in sorted(acts, key=lambda one: one[:2]):
            while (left := at - (time.monotonic() - self._began)) > 0:
                self._wait(min(left, 0.5))
            act()

    def _acts(self, fault: Fault) -> tuple[Callable[[], None], Callable[[], None]]:
        stage, kind = self.stage, fault.kind
        if kind is Kind.KILL:
            return partial(stage.kill, fault.target), partial(stage.start, fault.target)
        if kind is Kind.FLUSH:
            return stage.flush, _nothing
        if kind is Kind.REDIS_KILLED:
            return partial(stage.kill_server, stage.valkey, signal.SIGKILL), lambda: _revive(stage.valkey)
        if kind is Kind.POSTGRES_KILLED:
            return partial(stage.kill_server, stage.postgres, signal.SIGQUIT), lambda: _revive(stage.postgres)
        if kind is Kind.POSTGRES_RESTARTED:
            return stage.postgres.stop, lambda: _revive(stage.postgres)
        if kind is Kind.RECEIVER_REFUSES:
            return self._refuse_one, _nothing
        if kind in MOODS:
            return partial(self._feel, MOODS[kind]), partial(self._feel, Mood.KIND)
        if kind is Kind.MODEL_FAILS:
            return partial(self._model_fails, fault.seconds), _nothing
        mode = MODES[kind.split("_")[1]]
        wire = fault.target
        return partial(stage.turn, wire, mode, SLOW_SECONDS), partial(stage.turn, wire, Mode.PASS)

    def _refuse_one(self) -> None:
        self.stage.receiver.refusals = 1

    def _feel(self, mood: Mood) -> None:
        self.stage.receiver.mood = mood

    def _model_fails(self, seconds: float) -> None:
        async def fail() -> None:
            async with self.stage.simulator.control() as model:
                await model.fault("server_error", seconds=seconds, real_time=True)

        asyncio.run(fail())

    def _come_to_rest(self) -> None:
        end = time.monotonic() + REST_SECONDS
        while time.monotonic() < end:
            if self.stage.rows(LEFT)[0]["n"] == 0:
                return
            self._wait(0.3)

    def _wait(self, seconds: float) -> None:
        time.sleep(seconds)
        self._unwell += [one for one in self.stage.unwell() if one not in self._unwell]
        if time.monotonic() - self._said >= PROGRESS_SECONDS:
            self._said = time.monotonic()
            self.say(self._progress())

    @property
    def _now(self) -> float:
        return time.monotonic() - self._began

    def _progress(self) -> str:
        left = "the database is away"
        try:
            left = f"{self.stage.rows(LEFT)[0]['n']} left"
        except Exception as error:  # noqa: BLE001  (it is away on purpose)
            left = f"{left} ({type(error).__name__})"
        done = sum(fault.at <= self._now for fault in self.plan)
        bubbles = len({post.id for post in self.stage.receiver.bubbles()})
        return (
            f"{self._now:6.1f} s  {len(self.load.accepted)} messages, {bubbles} bubbles, {left}, "
            f"{done}/{len(self.plan)} faults"
        )


def _revive(server: object) -> None:
    server.start()  # type: ignore[attr-defined]


def _nothing() -> None:
    """It was over as it began."""
