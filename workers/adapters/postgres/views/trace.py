"""The story of a job: what its runs did, and every transition with who made it."""

from typing import Any

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

from schemas.ids import reference

_STEPS = text(
    "SELECT s.run_id, s.trace FROM run_steps s JOIN runs r ON r.id = s.run_id WHERE r.job_id = :job "
    "ORDER BY s.run_id, s.n"
)
_RUNS = text("SELECT id, trace FROM runs WHERE job_id = :job ORDER BY id")
# The first step of the newest run, else what its end left: what a run reads, it reads before its first call.
_BEGINNING = text(
    "SELECT COALESCE((SELECT s.trace FROM run_steps s WHERE s.run_id = r.id ORDER BY s.n LIMIT 1), r.trace) AS trace "
    "FROM runs r WHERE r.job_id = :job ORDER BY r.id DESC LIMIT 1"
)
_EVENTS = text("SELECT at, who, from_state, to_state, why, facts FROM job_events WHERE job_id = :job ORDER BY id")


async def trace_of(connection: AsyncConnection, job: int) -> list[dict[str, Any]]:
    """Items `{run, n, kind, at, …}` in order, run by run: the steps as they were saved, then what its end added."""
    lines: dict[int, list[dict[str, Any]]] = {}
    runs = (await connection.execute(_RUNS, {"job": job})).all()
    for step in await connection.execute(_STEPS, {"job": job}):
        lines.setdefault(step.run_id, []).extend(step.trace or [])
    for run in runs:
        lines.setdefault(run.id, []).extend(run.trace or [])
    return [{"run": reference("run", run.id), **item} for run in runs for item in lines[run.id]]


async def plan_read(connection: AsyncConnection, job: int) -> str | None:
    """The plan that the newest run of the job read as it began; None where there was none, or no run."""
    items = (await connection.execute(_BEGINNING, {"job": job})).scalar_one_or_none() or []
    return next((item["plan"] for item in items if item.get("kind") == "note" and "plan" in item), None)


async def events_of(connection: AsyncConnection, job: int) -> list[dict[str, Any]]:
    """`{at, who, from, to, why, facts}`, oldest first."""
    rows = await connection.execute(_EVENTS, {"job": job})
    return [
        {
            "at": row.at.isoformat(),
            "who": row.who,
            "from": row.from_state,
            "to": row.to_state,
            "why": row.why,
            "facts": row.facts or {},
        }
        for row in rows
    ]
