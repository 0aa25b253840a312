"""What was drafted in a conversation and never said: which bubbles went, who took them back, when and why."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

from schemas.claims import JobState
from schemas.http import CandidateOut
from schemas.ids import OrgId, reference
from workers.adapters.postgres.views.jobs import Surroundings, candidate_out

JOBS = 50
"""The newest ones are looked at."""

_BUBBLES = text(
    "SELECT k.* FROM (SELECT id FROM jobs WHERE conversation_id = :conversation ORDER BY id DESC LIMIT :jobs) j "
    "JOIN candidates k ON k.job_id = j.id AND k.state IN ('recalled', 'dropped') AND k.kind <> 'notice' "
    "ORDER BY k.job_id, k.ordinal, k.id"
)
_EVENTS = text(
    "SELECT id, job_id, at, who, from_state, to_state, why, facts ->> 'candidate' AS candidate FROM job_events "
    "WHERE job_id = ANY(:jobs) ORDER BY id"
)
_INSTRUCTIONS = text(
    "SELECT subject, at, facts ->> 'instruction' AS instruction FROM audit_log "
    "WHERE org_id = :org AND subject = ANY(:subjects) AND action = 'job.regenerated' ORDER BY id"
)
_ENDS = frozenset(state.value for state in JobState if not state.live)


@dataclass(frozen=True, slots=True)
class Withdrawn:
    """Bubbles that went at one stroke. `why` as an event says it; `state`: what that made of the job; `instruction`:
    what the next draft was to mind. `at`, `who`, `state` are None where no event tells of it."""

    job: str
    at: datetime | None
    who: str | None
    why: str | None
    state: str | None
    instruction: str | None
    bubbles: Sequence[CandidateOut]


async def withdrawn_from(
    connection: AsyncConnection, org: OrgId, conversation: int, around: Surroundings
) -> list[Withdrawn]:
    """The newest first, of the newest `JOBS` jobs. At most three statements."""
    bubbles = (await connection.execute(_BUBBLES, {"conversation": conversation, "jobs": JOBS})).all()
    if not bubbles:
        return []
    jobs = sorted({bubble.job_id for bubble in bubbles})
    events = (await connection.execute(_EVENTS, {"jobs": jobs})).all()
    subjects = [reference("job", job) for job in jobs]
    asked = (await connection.execute(_INSTRUCTIONS, {"org": org, "subjects": subjects})).all()
    strokes: dict[tuple[int, int | str | None], tuple[Any, list[Any]]] = {}
    for bubble in bubbles:
        event = _stroke(bubble, events)
        key = (bubble.job_id, bubble.reason if event is None else event.id)
        strokes.setdefault(key, (event, []))[1].append(bubble)
    newest = sorted(strokes.values(), key=_when, reverse=True)
    return [_told(event, gone, asked, around) for event, gone in newest]


def _stroke(bubble: Any, events: Iterable[Any]) -> Any:
    """The event that took a bubble back. A drop names its bubble; a job that is drafted again several times has several
    events of one kind, and the first after the bubble was made is its own. One that was refused by its receiver when
    its job was over already went with that job."""
    later = [event for event in events if event.job_id == bubble.job_id and event.at >= bubble.created_at]
    named = (event for event in later if event.why == "dropped" and event.candidate == str(bubble.id))
    same = (event for event in later if event.why == bubble.reason)
    ended = (event for event in later if event.to_state in _ENDS and event.from_state != event.to_state)
    return next(named, None) or next(same, None) or next(ended, None)


def _when(stroke: tuple[Any, Sequence[Any]]) -> datetime:
    event, gone = stroke
    at: datetime = gone[-1].created_at if event is None else event.at
    return at


def _told(event: Any, gone: Sequence[Any], asked: Iterable[Any], around: Surroundings) -> Withdrawn:
    job = reference("job", gone[0].job_id)
    bubbles = [candidate_out(bubble, None, around) for bubble in gone]
    if event is None:
        return Withdrawn(job, None, None, gone[0].reason, None, None, bubbles)
    instruction = None
    if event.why == "regenerate":  # its line in the audit log is of the same transaction, written right after it
        mine = (note for note in asked if note.subject == job and note.at >= event.at)
        instruction = next((note.instruction for note in mine), None)
    return Withdrawn(job, event.at, event.who, event.why, event.to_state, instruction, bubbles)
