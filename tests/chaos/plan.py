"""What breaks when: drawn from a seed, so that a run which found something can be run again."""

import random
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

FEW = ("gateway", "clock", "reply", "send")
PROCESSES = (*FEW, "clock-2", "reply-2", "send-2")
GAP = 0.5
"""Seconds between two faults of one thing: a server that comes back is there for a moment."""
DRAWS = 200


class Kind(StrEnum):
    KILL = "kill"
    FLUSH = "flush"
    REDIS_KILLED = "redis_killed"
    REDIS_CUT = "redis_cut"
    REDIS_FROZEN = "redis_frozen"
    POSTGRES_RESTARTED = "postgres_restarted"
    POSTGRES_KILLED = "postgres_killed"
    POSTGRES_CUT = "postgres_cut"
    POSTGRES_FROZEN = "postgres_frozen"
    POSTGRES_SLOW = "postgres_slow"
    RECEIVER_SLOW = "receiver_slow"
    RECEIVER_FAILS = "receiver_fails"
    RECEIVER_REFUSES = "receiver_refuses"
    RECEIVER_HANGS = "receiver_hangs"
    RECEIVER_SILENT = "receiver_silent"
    RECEIVER_CUT = "receiver_cut"
    MODEL_FAILS = "model_fails"
    MODEL_FROZEN = "model_frozen"
    MODEL_CUT = "model_cut"


LASTS: Mapping[Kind, tuple[float, float]] = {
    Kind.KILL: (0.1, 2.0),
    Kind.FLUSH: (0.0, 0.0),
    Kind.REDIS_KILLED: (0.5, 2.0),
    Kind.REDIS_CUT: (0.0, 2.0),
    Kind.REDIS_FROZEN: (1.0, 4.0),
    Kind.POSTGRES_RESTARTED: (0.5, 3.0),
    Kind.POSTGRES_KILLED: (0.5, 2.0),
    Kind.POSTGRES_CUT: (0.0, 2.0),
    Kind.POSTGRES_FROZEN: (1.0, 5.0),
    Kind.POSTGRES_SLOW: (2.0, 5.0),
    Kind.RECEIVER_SLOW: (2.0, 5.0),
    Kind.RECEIVER_FAILS: (1.0, 4.0),
    Kind.RECEIVER_REFUSES: (0.0, 0.0),
    Kind.RECEIVER_HANGS: (0.5, 2.0),
    Kind.RECEIVER_SILENT: (0.5, 2.0),
    Kind.RECEIVER_CUT: (0.0, 2.0),
    Kind.MODEL_FAILS: (1.0, 4.0),
    Kind.MODEL_FROZEN: (1.0, 8.0),
    Kind.MODEL_CUT: (0.0, 2.0),
}
"""From and to seconds: how long a process stays away, a server stays strange."""

LONG: Mapping[Kind, int] = {
    **dict.fromkeys(Kind, 1),
    Kind.KILL: 2 * len(PROCESSES),
    Kind.FLUSH: 10,
    Kind.RECEIVER_REFUSES: 2,
}
SHORT: Mapping[Kind, int] = {
    Kind.KILL: len(FEW),
    Kind.FLUSH: 2,
    Kind.POSTGRES_RESTARTED: 1,
    Kind.RECEIVER_HANGS: 1,
    Kind.RECEIVER_REFUSES: 1,
    Kind.MODEL_CUT: 1,
}


@dataclass(frozen=True, order=True)
class Fault:
    """From `at` seconds on, for `seconds`. `target` is the process that is killed, or the server."""

    at: float
    kind: Kind
    target: str
    seconds: float

    @property
    def over(self) -> float:
        return self.at + self.seconds

    def __str__(self) -> str:
        what = f"{self.kind} {self.target}" if self.kind is Kind.KILL else self.kind
        return f"{self.at:6.1f} s  {what}" + (f" for {self.seconds:.1f} s" if self.seconds else "")


def make_plan(
    seed: int, seconds: float, recipe: Mapping[Kind, int], processes: Sequence[str] = PROCESSES
) -> tuple[Fault, ...]:
    """`recipe` says how many of each. All of it is over after `seconds`; nothing breaks twice at the same time."""
    chance = random.Random(f"plan {seed}")
    plan: list[Fault] = []
    for kind in Kind:
        targets = _targets(kind, recipe.get(kind, 0), processes, chance)
        for target in targets:
            fault = _placed(kind, target, seconds, plan, chance)
            if fault is not None:
                plan.append(fault)
    return tuple(sorted(plan))


def _targets(kind: Kind, count: int, processes: Sequence[str], chance: random.Random) -> list[str]:
    """Every process is killed before one is killed again."""
    if kind is not Kind.KILL:
        return ["redis" if kind is Kind.FLUSH else kind.split("_")[0]] * count
    found: list[str] = []
    while len(found) < count:
        found += chance.sample(processes, min(len(processes), count - len(found)))
    return found


def _placed(kind: Kind, target: str, seconds: float, plan: Sequence[Fault], chance: random.Random) -> Fault | None:
    """None: there is no room left."""
    for _ in range(DRAWS):
        lasts = round(chance.uniform(*LASTS[kind]), 2)
        fault = Fault(round(chance.uniform(0, max(seconds - lasts, 0)), 2), kind, target, lasts)
        if not any(_clash(fault, other) for other in plan):
            return fault
    return None


def _clash(one: Fault, other: Fault) -> bool:
    return one.target == other.target and one.at < other.over + GAP and other.at < one.over + GAP


def counted(plan: Sequence[Fault]) -> Counter[str]:
    """How many of each kind; of kills, by the kind of process."""
    return Counter(f"kill {f.target.split('-')[0]}" if f.kind is Kind.KILL else str(f.kind) for f in plan)
