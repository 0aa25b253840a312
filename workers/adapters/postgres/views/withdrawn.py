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
from workers.adapters.postgres.bubble_moves import GONE
from workers.adapters.postgres.views.jobs import Surroundings, candidate_out

JOBS = 50
"""The newest ones are looked at."""

_ENDS = ", ".join(f"'{state}'" for state in JobState if not state.live)
# One that was refused by its receiver when its job was over already went with that job.
_BUBBLES = text(
    "SELECT k.*, coalesce(gone.id, over.id) AS stroke, coalesce(gone.at, over.at) AS gone_at, "
    "coalesce(gone.who, over.who) AS gone_by, coalesce(gone.why, over.why) AS gone_why, "
    "coalesce(gone.to_state, over.to_state) AS gone_to "
    "FROM (SELECT id FROM jobs WHERE conversation_id = :conversation ORDER BY id DESC LIMIT :jobs) j "
    "JOIN candidates k ON k.job_id = j.id AND k.state IN ('recalled', 'dropped') AND k.kind <> 'notice' "
    f"{GONE} LEFT JOIN LATERAL (SELECT id, at, who, why, to_state FROM job_events WHERE job_id = k.job_id "
    f"AND at >= k.created_at AND to_state IN ({_ENDS}) AND from_state IS DISTINCT FROM to_state ORDER BY id LIMIT 1"
    ") over ON gone.id IS NULL ORDER BY k.job_id, k.ordinal, k.id"
)
_INSTRUCTIONS = text(
    "SELECT subject, at, facts ->> 'instruction' AS instruction FROM audit_log "
    "WHERE org_id = :org AND subject = ANY(:subjects) AND action = 'job.regenerated' ORDER BY id"
)


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
    """The newest first, of the newest `JOBS` jobs. At most two statements."""
    bubbles = (await connection.execute(_BUBBLES, {"conversation": conversation, "jobs": JOBS})).all()
    if not bubbles:
        return []
    subjects = [reference("job", job) for job in sorted({bubble.job_id for bubble in bubbles})]
    asked = (await connection.execute(_INSTRUCTIONS, {"org": org, "subjects": subjects})).all()
    strokes: dict[tuple[int, int | str | None], list[Any]] = {}
    for bubble in bubbles:
        strokes.setdefault((bubble.job_id, bubble.stroke or bubble.reason), []).append(bubble)
    return [_told(gone, asked, around) for gone in sorted(strokes.values(), key=_when, reverse=True)]


def _when(gone: Sequence[Any]) -> datetime:
    at: datetime = gone[-1].gone_at or gone[-1].created_at
    return at


def _told(gone: Sequence[Any], asked: Iterable[Any], around: Surroundings) -> Withdrawn:
    one, bubbles = gone[0], [candidate_out(bubble, None, around) for bubble in gone]
    job, instruction = reference("job", one.job_id), None
    if one.stroke is None:
        return Withdrawn(job, None, None, one.reason, None, None, bubbles)
    if one.gone_why == "regenerate":  # its line in the audit log is of the same transaction, written right after it
        mine = (note for note in asked if note.subject == job and note.at >= one.gone_at)
        instruction = next((note.instruction for note in mine), None)
    return Withdrawn(job, one.gone_at, one.gone_by, one.gone_why, one.gone_to, instruction, bubbles)
