"""Distributions and deeds for dashboards, counted in the database from what is only ever added to.

job seconds: from a job's making to each of its ends; iterations: model answers of the agent in a run that ended by
itself; lateness: from a bubble's due time to its leaving, first attempts only; window actions: from the audit log.
"""

from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import dataclass

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

from schemas.resources import OrganizationSpec

JOB_SECONDS = (1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0, 900.0, 3600.0, 86_400.0)
ITERATIONS = (1.0, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0, 20.0, 50.0)
LATENESS = (0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 15.0, 60.0, 300.0)

ENDED = text(
    "SELECT coalesce(p.spec ->> 'pipeline', o.spec ->> 'pipeline', :usual) AS pipeline, e.to_state AS outcome, "
    "coalesce(e.facts ->> 'code', '') AS code, "
    "width_bucket(extract(epoch FROM e.at - j.created_at)::float8, CAST(:bounds AS float8[])) AS bucket, "
    "count(*) AS n, coalesce(sum(extract(epoch FROM e.at - j.created_at)), 0)::float8 AS seconds "
    "FROM job_events e JOIN jobs j ON j.id = e.job_id JOIN conversations c ON c.id = j.conversation_id "
    "JOIN personas p ON p.id = c.persona_id JOIN organizations o ON o.id = j.org_id "
    "WHERE e.to_state IN ('sent', 'silent', 'failed', 'superseded', 'cancelled') GROUP BY 1, 2, 3, 4"
)
# Not of runs that were thrown away: the call that was under way then is settled later, and a count would move.
_ITERATIONS = text(
    "SELECT runs.n AS value, count(*) AS n FROM (SELECT run_id, count(*) AS n FROM ledger "
    " WHERE task = 'reply' AND state = 'settled' AND outcome = 'ok' GROUP BY run_id) AS runs "
    "JOIN runs r ON r.id = runs.run_id AND r.outcome IN ('decided', 'failed') GROUP BY 1"
)
_LATENESS = text(
    "SELECT width_bucket(late, CAST(:bounds AS float8[])) AS bucket, count(*) AS n, sum(late) AS seconds FROM ("
    " SELECT greatest(extract(epoch FROM at - CAST(facts ->> 'due_at' AS timestamptz))::float8, 0) AS late "
    " FROM job_events WHERE to_state = 'sending' AND facts ->> 'due_at' IS NOT NULL) AS left_late GROUP BY 1"
)
_DEEDS = text("SELECT action, count(*) AS n FROM audit_log WHERE action = ANY(:actions) GROUP BY 1")
_ACTIONS = {
    "job.approved": "approve",
    "job.held": "hold",
    "job.released": "release",
    "job.cancelled": "cancel",
    "job.retried": "retry",
    "job.regenerated": "regenerate",
    "candidate.edited": "edit",
    "candidate.dropped": "drop",
    "conversation.taken_over": "takeover",
    "conversation.resumed": "resume",
}


@dataclass(frozen=True, slots=True)
class Histogram:
    """`counts` has one more member than `bounds`: what is beyond the last one."""

    bounds: tuple[float, ...]
    counts: tuple[int, ...]
    total: float

    @classmethod
    def of(cls, bounds: tuple[float, ...], rows: Iterable[tuple[int, int, float]]) -> "Histogram":
        """Rows of (bucket, how many, their sum)."""
        counts, total = [0] * (len(bounds) + 1), 0.0
        for bucket, n, amount in rows:
            counts[bucket] += n
            total += amount
        return cls(bounds, tuple(counts), total)

    def cumulative(self) -> list[tuple[str, float]]:
        """(upper bound, how many up to it), as Prometheus wants it."""
        names, running, shown = [*map(str, self.bounds), "+Inf"], 0, []
        for name, count in zip(names, self.counts, strict=True):
            running += count
            shown.append((name, float(running)))
        return shown


@dataclass(frozen=True, slots=True)
class Measures:
    jobs: dict[tuple[str, str, str], int]
    job_seconds: Histogram
    run_iterations: Histogram
    send_lateness: Histogram
    window_actions: dict[str, int]


async def measure(connection: AsyncConnection) -> Measures:
    bound = {"usual": OrganizationSpec().pipeline, "bounds": list(JOB_SECONDS)}
    ended = (await connection.execute(ENDED, bound)).all()
    jobs: dict[tuple[str, str, str], int] = {}
    for row in ended:
        key = (row.pipeline, row.outcome, row.code)
        jobs[key] = jobs.get(key, 0) + row.n
    runs = (await connection.execute(_ITERATIONS)).all()
    late = (await connection.execute(_LATENESS, {"bounds": list(LATENESS)})).all()
    return Measures(
        jobs=jobs,
        job_seconds=Histogram.of(JOB_SECONDS, ((row.bucket, row.n, row.seconds) for row in ended)),
        run_iterations=Histogram.of(
            ITERATIONS, ((bisect_left(ITERATIONS, row.value), row.n, row.value * row.n) for row in runs)
        ),
        send_lateness=Histogram.of(LATENESS, ((row.bucket, row.n, row.seconds) for row in late)),
        window_actions=await _deeds(connection),
    )


async def _deeds(connection: AsyncConnection) -> dict[str, int]:
    found = await connection.execute(_DEEDS, {"actions": list(_ACTIONS)})
    return dict.fromkeys(_ACTIONS.values(), 0) | {_ACTIONS[row.action]: row.n for row in found}
