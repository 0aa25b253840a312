"""Which models a call may ask, in order. Decided by rules that can be read here; no model is asked which model to ask.

An organisation's own route comes before the installation's. Where several routes share a task, the installation's are
dealt out by organisation, an organisation's own by contact: who has one keeps it, as the choice is a hash.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from hashlib import sha256

from pipelines.llm.models import Choice, NoModel, Route, Routes, own_choice
from schemas.conversation import Effort
from schemas.llm import Task

STRONGER = {Task.CONCIERGE: Task.CONCIERGE_STRONG, Task.REPLY: Task.REPLY_STRONG}
"""Tasks with a stronger way of being done: by plan, or as a conversation becomes harder."""
BY_PLAN = frozenset({Task.CONCIERGE})
"""Those whose stronger way is part of a plan."""
STRONG_PLANS = frozenset({"enterprise"})

MANY_TURNS = 6
"""A conversation that is longer is hard."""
LOOKED_AT = 200
"""Newest answers of an organisation, of which only a share may be the stronger route's."""
ENTERS_BELOW = 0.8
"""Of that share. The rest is for conversations that have the stronger route already: what they have said is in that
model's cache, and a conversation at the bound would otherwise change its model with every reply."""


class Why(StrEnum):
    """Why a conversation is hard."""

    PLAN = "plan"
    COMPLEX_BOOKING = "complex_booking"
    """Its last turn proposed a purchase or a booking."""
    MANY_TURNS = "many_turns"


@dataclass(frozen=True, slots=True)
class Taken:
    """The task that a run's calls are made for. `why`: it is hard; `kept_back`: and yet takes the usual way, because
    the share of the stronger one is used up."""

    task: Task
    why: Why | None = None
    kept_back: bool = False


@dataclass(frozen=True, slots=True)
class Whom:
    """On whose behalf a model is asked. `organization` and `contact` are ids that do not change."""

    organization: str = ""
    contact: str = ""
    overrides: Mapping[str, str] = field(default_factory=dict)
    plan: str | None = None


def take(task: Task, whom: Whom, effort: Effort | None, *, proposed: bool, share: float) -> Taken:
    """Asked once, as a run begins: all of its calls go one way. `effort` None: only the plan counts. `proposed`: the
    last turn proposed a purchase or a booking. `share` (0 to 1) bounds what hard conversations take of the stronger
    way; runs that begin at the same moment do not see each other."""
    stronger = STRONGER.get(task)
    if stronger is None:
        return Taken(task)
    if task in BY_PLAN and whom.plan in STRONG_PLANS:
        return Taken(stronger, Why.PLAN)
    why = None if effort is None else _hard(effort, proposed)
    if effort is None or why is None or _chose_its_own(task, stronger, whom):
        return Taken(task)
    return Taken(stronger, why) if _has_room(effort, share) else Taken(task, why, kept_back=True)


def _hard(effort: Effort, proposed: bool) -> Why | None:
    if proposed:
        return Why.COMPLEX_BOOKING
    return Why.MANY_TURNS if effort.replies + 1 > MANY_TURNS else None


def _chose_its_own(task: Task, stronger: Task, whom: Whom) -> bool:
    """An organisation that named who answers is not moved to a model that it never named."""
    return task in whom.overrides and stronger not in whom.overrides


def _has_room(effort: Effort, share: float) -> bool:
    """A count out of `LOOKED_AT`, so that the first conversations of an organisation are not judged by each other."""
    most = share * LOOKED_AT * (1 if effort.strong_before else ENTERS_BELOW)
    return share >= 1 or effort.strong < most


def pick_model(task: Task, whom: Whom, routes: Routes) -> Route:
    """The models to ask, best first: the first that is not down answers. Behind the members of a stronger way stand
    those of the usual one. Raises NoModel when none can be called."""
    usual = next((weaker for weaker, stronger in STRONGER.items() if stronger is task), None)
    if usual is None:
        return _members(task, whom, routes)
    try:
        strong = _members(task, whom, routes)
    except NoModel:
        strong = ()
    try:
        others = _members(usual, whom, routes)
    except NoModel:
        if not strong:
            raise
        others = ()
    return (*strong, *(model for model in others if model not in strong))


def _members(task: Task, whom: Whom, routes: Routes) -> Route:
    own = routes.callable_members(_dealt(own_choice(task, whom.overrides), task, whom.contact))
    return own or routes.members(task, _dealt(routes.routes.get(task, ()), task, whom.organization))


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
