"""Which models a call may ask, in order. Decided by rules that can be read here; no model is asked which model to ask.

An organisation's own route comes before the installation's. Where several routes share a task, the installation's are
dealt out by organisation, an organisation's own by contact: who has one keeps it, as the choice is a hash.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256

from pipelines.llm.models import Choice, Route, Routes, own_choice
from schemas.llm import Task

STRONGER = {Task.CONCIERGE: Task.CONCIERGE_STRONG}
"""Tasks with a stronger way of being done: by plan, or as a conversation becomes harder."""

STRONG_PLANS = frozenset({"enterprise"})
MANY_TURNS = 6
"""A conversation that is longer is hard."""
COMPLEX_BOOKING = "complex_booking"
"""The intent of a conversation whose last turn proposed a booking."""


@dataclass(frozen=True, slots=True)
class Whom:
    """On whose behalf a model is asked. `organization` and `contact` are ids that do not change; `turns` of the
    conversation so far; `intent` is what its last turn was about."""

    organization: str = ""
    contact: str = ""
    overrides: Mapping[str, str] = field(default_factory=dict)
    plan: str | None = None
    turns: int = 0
    intent: str | None = None


def pick_model(task: Task, whom: Whom, routes: Routes, *, dynamic: bool = False) -> Route:
    """The models to ask, best first: the first that is not down answers. `dynamic`: hard conversations take the
    stronger route of their task. Raises NoModel when none can be called."""
    task = _as_hard(task, whom, dynamic=dynamic)
    own = routes.callable_members(_dealt(own_choice(task, whom.overrides), task, whom.contact))
    return own or routes.members(task, _dealt(routes.routes.get(task, ()), task, whom.organization))


def _as_hard(task: Task, whom: Whom, *, dynamic: bool) -> Task:
    stronger = STRONGER.get(task)
    if stronger is None:
        return task
    hard = dynamic and (whom.turns > MANY_TURNS or whom.intent == COMPLEX_BOOKING)
    return stronger if hard or whom.plan in STRONG_PLANS else task


def _dealt(choice: Choice, task: Task, unit: str) -> Choice:
    """One of the variants, always the same for the same unit and task."""
    if len(choice) < 2:
        return choice
    total = sum(variant.share for variant in choice)
    at = int.from_bytes(sha256(f"{task}\0{unit}".encode()).digest()[:8], "big") % total
    for variant in choice:
        if at < variant.share:
            return (variant,)
        at -= variant.share
    return choice[-1:]
