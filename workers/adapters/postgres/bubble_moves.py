"""Who brought one bubble into its state, and when: its own story, which is not its job's.

A worker sends a bubble while an operator drops the one behind it; whoever comes too late for the first is told of the
worker. What the rows do not hold is null: nobody is named who was not there.
"""

from datetime import datetime

from schemas.claims import CandidateState
from schemas.conversation import BubbleKind
from schemas.errors import TooLate
from schemas.ids import CandidateId
from workers.adapters.postgres.transaction import Row, Transaction, sql

EDITED = "edited meanwhile"

_WORKER = "worker"
_NOTHING: tuple[None, None] = (None, None)

AGAIN = """LEFT JOIN LATERAL (
  SELECT who, at FROM job_events WHERE job_id = k.job_id AND why = 'retry' AND to_state = 'sending'
  ORDER BY id DESC LIMIT 1) again ON true"""
"""The newest time that the job of a bubble `k` was delivered again."""

GONE = f"""{AGAIN}
LEFT JOIN LATERAL (
  (SELECT id, at, who, why, to_state FROM job_events WHERE job_id = k.job_id AND why = 'dropped'
     AND (facts -> 'candidate' = to_jsonb(k.id) OR facts -> 'with_it' @> to_jsonb(k.id))
   ORDER BY id DESC LIMIT 1)
  UNION ALL
  (SELECT id, at, who, why, to_state FROM job_events WHERE job_id = k.job_id AND why = k.reason
     AND why <> 'dropped' AND from_state IS DISTINCT FROM to_state AND at >= GREATEST(k.created_at, again.at)
   ORDER BY id LIMIT 1)
  LIMIT 1) gone ON k.state IN ('recalled', 'dropped')"""
"""The event that took a bubble `k` back. A drop names its bubble. A job that is drafted again several times has several
events of one kind: the first after the bubble was made is its own, and where recalled bubbles came back with a delivery
again, the first after that."""

_STORY = sql(f"""
SELECT k.kind, k.reason, j.kind = 'delivery' AS owed, made.who AS made_by,
       k.created_at, k.left_at, k.sent_at, d.ended_at AS settled_at,
       again.who AS again_by, again.at AS again_at, gone.who AS gone_by, gone.at AS gone_at,
       edited.who AS edited_by, edited.at AS edited_at
FROM candidates k
JOIN jobs j ON j.id = k.job_id
LEFT JOIN LATERAL (SELECT who FROM job_events WHERE job_id = k.job_id ORDER BY id LIMIT 1) made ON true
LEFT JOIN deliveries d ON d.candidate_id = k.id
{GONE}
LEFT JOIN LATERAL (
  SELECT who, at FROM job_events WHERE job_id = k.job_id AND why = 'edited' AND facts -> 'candidate' = to_jsonb(k.id)
  ORDER BY id DESC LIMIT 1) edited ON true
WHERE k.id = :candidate
""")


async def too_late(
    tx: Transaction, candidate: CandidateId, state: str, to_do: str | None = None, never: bool = False, **more: object
) -> TooLate:
    """What a call that found this bubble in the wrong state answers. `more` are further facts."""
    story = await tx.the(_STORY, candidate=candidate)
    edited = more.get("reason") == EDITED
    by, at = (story.edited_by, story.edited_at) if edited else _moved(CandidateState(state), story)
    return TooLate(state, by=by, at=at, to_do=to_do, never=never, **more)


def _moved(state: CandidateState, story: Row) -> tuple[str | None, datetime | None]:
    match state:
        case CandidateState.SENT:
            return _WORKER, story.sent_at
        case CandidateState.FAILED:
            return _WORKER, story.settled_at
        case CandidateState.LEAVING:
            again = story.again_at is not None and story.again_at > story.left_at
            return (story.again_by, story.again_at) if again else (_WORKER, story.left_at)
        case CandidateState.RECALLED | CandidateState.DROPPED:
            return _withdrawn(state, story)
        case CandidateState.HELD if story.left_at is not None:
            return story.again_by, story.again_at
        case CandidateState.HELD if story.owed:
            return story.made_by, story.created_at
        case CandidateState.HELD if story.kind == BubbleKind.NOTICE:
            return _WORKER, story.created_at
    return _NOTHING


def _withdrawn(state: CandidateState, story: Row) -> tuple[str | None, datetime | None]:
    if story.gone_at is not None:
        return story.gone_by, story.gone_at
    if state is CandidateState.DROPPED:
        # A notice that was due no more: the worker that would have sent it.
        return (_WORKER, None) if story.reason == "noticed" else _NOTHING
    # Refused by the receiver when its job had ended: whoever posted it took it back.
    return _NOTHING if story.settled_at is None else (_WORKER, story.settled_at)
