"""Writing first: when, whether still when its time has come, and for the last time."""

from dataclasses import dataclass, replace
from datetime import datetime
from typing import TypeVar

from pipelines.hours import best_hour, is_open, next_at, start_of, zone_of
from schemas.claims import JobState, NoFollowUp, NoJob
from schemas.conversation import Author, Case
from schemas.decisions import Failure, Reply, Silence

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


def next_time(case: Case) -> datetime | None:
    """The next time it is the hour at which this contact writes most, within the persona's hours for writing first.
    None when this is the last follow-up in a row."""
    if case.follow_up is not None and case.follow_up.number >= MOST_IN_A_ROW:
        return None
    spec = case.persona.spec
    zone = zone_of((case.contact.timezone, spec.timezone, case.organization.spec.timezone))
    written = [turn.at for turn in case.turns if turn.author is Author.CONTACT]
    return next_at(best_hour(written, spec.proactive_hours, zone), case.now, zone)


def continued(case: Case, decision: Composed) -> Reply | Composed:
    """A follow-up that is written plans the next one, should it stay without an answer."""
    if case.follow_up is None or not isinstance(decision, Reply):
        return decision
    return replace(decision, follow_up_at=next_time(case))


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
