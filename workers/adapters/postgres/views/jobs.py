"""Jobs as people read them: with their candidates, what they cost, and the story of their runs."""

from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

from schemas.answers import Page
from schemas.claims import CandidateState, JobState
from schemas.errors import Code, NotFound, Severity
from schemas.http import AudioOut, CandidateOut, JobOut, UsageOut
from schemas.ids import CandidateId, JobId, OrgId, reference
from schemas.money import as_decimal_text
from workers.adapters.postgres.views.paging import before
from workers.adapters.postgres.views.snapshot import Snapshots
from workers.adapters.postgres.views.trace import events_of, trace_of

_JOBS = (
    "SELECT j.*, o.name AS organization, c.name AS conversation FROM jobs j "
    "JOIN conversations c ON c.id = j.conversation_id JOIN organizations o ON o.id = j.org_id "
)
_ONE = text(_JOBS + "WHERE j.id = :id AND (CAST(:org AS bigint) IS NULL OR j.org_id = :org)")
_SOME = text(_JOBS + "WHERE j.id = ANY(:ids) ORDER BY j.id DESC")
_CANDIDATES = text("SELECT * FROM candidates WHERE job_id = ANY(:ids) ORDER BY job_id, ordinal, id")
_OF_BUBBLE = text(_JOBS + "JOIN candidates k ON k.job_id = j.id WHERE k.id = :bubble")
_USAGE = text(
    "SELECT job_id, count(*) AS calls, sum(input) AS input, sum(cache_read) AS cache_read, "
    "sum(cache_write_5m + cache_write_1h) AS cache_write, sum(output) AS output, sum(cost_usd) AS cost, "
    "sum(cost_usd) FILTER (WHERE discarded) AS discarded, count(*) FILTER (WHERE cost_usd IS NULL) AS unpriced "
    "FROM ledger WHERE job_id = ANY(:ids) AND state <> 'reserved' GROUP BY job_id"
)


@dataclass(frozen=True, slots=True)
class JobFilter:
    """What a list of jobs is narrowed to. `conversation` is the upstream app's name of it."""

    states: Sequence[JobState] = ()
    code: Code | None = None
    attention: bool | None = None
    conversation: str | None = None

    def where(self, org: OrgId | None) -> tuple[list[str], dict[str, Any]]:
        """Conditions on `jobs j` and their bound values; only what is asked for, so that indexes fit."""
        found: list[tuple[str, dict[str, Any]]] = []
        if org is not None:
            found.append(("j.org_id = :org", {"org": org}))
        if self.states:
            found.append(("j.state = ANY(:states)", {"states": [state.value for state in self.states]}))
        if self.code is not None:
            found.append(("j.code = :code", {"code": self.code.value}))
        if self.attention is not None:
            found.append(("j.attention = 'open'" if self.attention else "j.attention IS DISTINCT FROM 'open'", {}))
        if self.conversation is not None:
            found.append((_IN_CONVERSATION, {"conversation": self.conversation}))
        return [condition for condition, _ in found], {key: v for _, values in found for key, v in values.items()}


# Through organizations, because the index on a conversation's name starts with its organisation.
_IN_CONVERSATION = (
    "j.conversation_id = ANY(ARRAY(SELECT c.id FROM organizations o "
    "JOIN conversations c ON c.org_id = o.id AND c.name = :conversation))"
)


Sign = Callable[[str], str]
"""From a file's key to a link that opens it for some days, counted from now: the one that was sent may have ended."""

Signer = Callable[[], Awaitable[Sign]]


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What is shown beside the rows."""

    simulated: bool
    sign: Sign


class Jobs:
    def __init__(self, snapshots: Snapshots, signer: Signer, simulated: bool = False) -> None:
        self._snapshots = snapshots
        self._signer = signer
        self._simulated = simulated

    async def one(self, org: OrgId | None, job: JobId) -> JobOut:
        """With trace and events. Raises `NotFound`."""
        around = await self._around()
        async with self._snapshots.open() as connection:
            row = (await connection.execute(_ONE, {"id": job, "org": org})).one_or_none()
            if row is None:
                raise NotFound("no such job")
            (shown,) = await show_jobs(connection, [row], around)
            trace, events = await trace_of(connection, job), await events_of(connection, job)
        return shown.model_copy(update={"trace": trace, "events": events})

    async def bubble(self, org: OrgId | None, bubble: CandidateId) -> CandidateOut:
        """Raises `NotFound`."""
        around = await self._around()
        async with self._snapshots.open() as connection:
            row = (await connection.execute(_OF_BUBBLE, {"bubble": bubble})).one_or_none()
            if row is None or (org is not None and row.org_id != org):
                raise NotFound("no such bubble")
            (job,) = await show_jobs(connection, [row], around)
        return next(shown for shown in job.candidates if shown.id == reference("bub", bubble))

    async def page(self, org: OrgId | None, wanted: JobFilter, cursor: str | None, limit: int) -> Page[JobOut]:
        """Newest first, without trace and events."""
        conditions, values = wanted.where(org)
        clause = " AND ".join(["j.id < :before", *conditions])
        ids = text(f"SELECT j.id FROM jobs j WHERE {clause} ORDER BY j.id DESC LIMIT :limit")
        around = await self._around()
        async with self._snapshots.open() as connection:
            bound = {**values, "before": before("job", cursor), "limit": limit + 1}
            found = list(await connection.scalars(ids, bound))
            rows = (await connection.execute(_SOME, {"ids": found[:limit]})).all()
            items = await show_jobs(connection, rows, around)
        following = reference("job", found[limit - 1]) if len(found) > limit else None
        return Page[JobOut](items=items, next=following)

    async def _around(self) -> Surroundings:
        """Before a connection is taken: at first the secret is read with one of its own."""
        return Surroundings(self._simulated, await self._signer())


async def show_jobs(connection: AsyncConnection, rows: Sequence[Any], around: Surroundings) -> list[JobOut]:
    """Rows of `jobs` with `organization` and `conversation` names, in the order given. Two statements for all."""
    ids = {"ids": [row.id for row in rows]}
    candidates: dict[int, list[Any]] = defaultdict(list)
    for candidate in await connection.execute(_CANDIDATES, ids):
        candidates[candidate.job_id].append(candidate)
    usage = {row.job_id: _usage(row) for row in await connection.execute(_USAGE, ids)}
    return [_job(row, candidates[row.id], usage.get(row.id, UsageOut()), around) for row in rows]


def _job(row: Any, candidates: Iterable[Any], usage: UsageOut, around: Surroundings) -> JobOut:
    state = JobState(row.state)
    return JobOut(
        id=reference("job", row.id),
        organization=row.organization,
        conversation=row.conversation,
        engine=row.engine,
        trigger=row.trigger,
        state=state,
        outcome=None if state.live else state,
        code=row.code,
        reason=row.reason,
        attention=row.attention == "open",
        severity=Severity.of(row.code) if row.attention == "open" else None,
        attempts=row.claims,
        due_at=row.due_at,
        on_hold=row.on_hold,
        note=row.note,
        instruction=row.instruction,
        created_at=row.created_at,
        ended_at=row.ended_at,
        candidates=_candidates(row, candidates, around),
        usage=usage,
        simulated=around.simulated,
        rules=row.rules or [],
    )


def _candidates(job: Any, rows: Iterable[Any], around: Surroundings) -> list[CandidateOut]:
    """The next held bubble leaves when the job is due; those behind it follow its pace."""
    shown, due = [], job.due_at
    for row in rows:
        held = row.state == CandidateState.HELD
        shown.append(candidate_out(row, due if held else None, around))
        due = None if held else due
    return shown


def candidate_out(row: Any, due: Any, around: Surroundings) -> CandidateOut:
    return CandidateOut(
        id=reference("bub", row.id),
        ordinal=row.ordinal,
        kind=row.kind,
        state=row.state,
        text=row.text,
        media=row.media or [],
        price=row.price,
        audio=audio_out(row.audio, around.sign),
        due_at=due,
        reason=row.reason,
        version=row.version,
    )


def audio_out(recording: dict[str, Any] | None, sign: Sign) -> AudioOut | None:
    """`recording` as the bubble's row keeps it."""
    if recording is None:
        return None
    same = {name: recording[name] for name in ("mime", "duration_ms", "transcript")}
    return AudioOut(url=sign(recording["key"]), **same)


def _usage(row: Any) -> UsageOut:
    return UsageOut(
        calls=row.calls,
        input=row.input,
        cache_read=row.cache_read,
        cache_write=row.cache_write,
        output=row.output,
        cost_usd=as_decimal_text(row.cost),
        discarded_cost_usd=as_decimal_text(row.discarded),
        unpriced_calls=row.unpriced,
    )
