"""Writing first: when, whether still when its time has come, and for the last time."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TypeVar

from pipelines.hours import best_hour, is_open, next_at, start_of, zone_of
from pipelines.ports import Habits
from schemas.claims import JobState, NoFollowUp, NoJob
from schemas.conversation import Author, Case
from schemas.decisions import Failure, Reply, Silence
from schemas.errors import Unavailable

MOST_IN_A_ROW = 2
"""Follow-ups since the contact last did something, sent or left unwritten: a third one would be a nuisance, and an
agent that never finds a word would be asked for ever."""

Composed = TypeVar("Composed", bound=Reply | Silence | Failure)


@dataclass(frozen=True, slots=True)
class Standing:
    """A conversation whose follow-up is due. `closed`: why no job may be made; `newest`: the state of its newest job;
    `written`: follow-ups in a row already."""

    closed: NoJob | None
    newest: JobState | None
    written: int


def is_last(case: Case) -> bool:
    """After this follow-up nothing more is planned."""
    return case.follow_up is not None and case.follow_up.number >= MOST_IN_A_ROW


async def next_time(case: Case, habits: Habits | None) -> datetime | None:
    """The next time it is the hour at which this contact writes most, within the persona's hours for writing first.
    None when this is the last follow-up in a row. Only here is it looked up when they write: most runs plan nothing."""
    return None if is_last(case) else next_hour(case, await _written(case, habits))


def next_hour(case: Case, written: Sequence[datetime]) -> datetime:
    """`written`: when the contact wrote."""
    spec = case.persona.spec
    zone = zone_of((case.contact.timezone, spec.timezone, case.organization.spec.timezone))
    return next_at(best_hour(written, spec.proactive_hours, zone), case.now, zone)


async def _written(case: Case, habits: Habits | None) -> Sequence[datetime]:
    """Of all their conversations; of the window alone where nobody can be asked."""
    try:
        found = () if habits is None else await habits.written(case.contact.id)
    except Unavailable:
        found = ()
    return found or [turn.at for turn in case.turns if turn.author is Author.CONTACT]


async def continued(case: Case, decision: Composed, habits: Habits | None) -> Reply | Composed:
    """A follow-up that is written plans the next one, should it stay without an answer."""
    if case.follow_up is None or not isinstance(decision, Reply):
        return decision
    return replace(decision, follow_up_at=await next_time(case, habits))


def dropped(standing: Standing) -> NoJob | NoFollowUp | None:
    """Why nothing is written although it was planned. What an operator stopped, and what failed before a person's eyes,
    is not made up for by writing again."""
    if standing.closed is not None:
        return standing.closed
    if standing.newest is not None and standing.newest.live:
        return NoFollowUp.ON_ITS_WAY
    if standing.newest is JobState.CANCELLED:
        return NoFollowUp.CANCELLED
    if standing.newest is JobState.FAILED:
        return NoFollowUp.FAILED
    return NoFollowUp.UNANSWERED if standing.written >= MOST_IN_A_ROW else None


def postponed(proactive_hours: str, now: datetime, *zones: str | None) -> datetime | None:
    """When the persona may write first, if not now: the hours were changed, or nothing ran when it was time. `zones` as
    for `zone_of`."""
    zone = zone_of(zones)
    return None if is_open(proactive_hours, now, zone) else next_at(start_of(proactive_hours), now, zone)


def renewed(planned: datetime, now: datetime, *zones: str | None) -> datetime:
    """`planned`, or the same hour of a later day when that time has passed."""
    zone = zone_of(zones)
    return planned if planned > now else next_at(planned.astimezone(zone).time(), now, zone)
