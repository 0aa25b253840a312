"""The running sums in the shape of the metrics they are shown as. docs/decisions/metrics.md says what each counts."""

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

JOB_SECONDS = (1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0, 900.0, 3600.0, 86_400.0)
ITERATIONS = (1.0, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0, 20.0, 50.0)
LATENESS = (0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 15.0, 60.0, 300.0)

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
    def of(cls, bounds: tuple[float, ...], rows: Iterable[tuple[float, int, float]]) -> "Histogram":
        """Rows of (a value, or the upper bound of its bucket; how many; their sum)."""
        counts, total = [0] * (len(bounds) + 1), 0.0
        for value, n, amount in rows:
            counts[bisect_left(bounds, value)] += n
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
class LedgerSum:
    """Sums over the calls of one organisation, pipeline, model and outcome."""

    org: str
    pipeline: str
    provider: str
    model: str
    outcome: str
    calls: int
    tokens: dict[str, int]
    usd: Decimal
    eur: Decimal


@dataclass(frozen=True, slots=True)
class Measures:
    """What only ever grows. Keys are label values in the order of the metric's labels."""

    jobs: dict[tuple[str, ...], int]
    job_seconds: Histogram
    run_iterations: Histogram
    send_lateness: Histogram
    tool_calls: dict[tuple[str, ...], int]
    candidates: dict[tuple[str, ...], int]
    window_actions: dict[tuple[str, ...], int]
    webhook_attempts: dict[tuple[str, ...], int]
    ledger: Sequence[LedgerSum]
    quota_exceeded: dict[tuple[str, ...], int]
    unpriced: dict[tuple[str, ...], int]
    erased_rows: dict[tuple[str, ...], int]

    @classmethod
    def of(cls, sums: Iterable[Any]) -> "Measures":
        """From the rows that `totals.read` answers."""
        rows: dict[str, list[Any]] = {}
        for row in sums:
            rows.setdefault(row.metric, []).append(row)
        ended = rows.get("jobs", [])
        jobs: dict[tuple[str, ...], int] = {}
        for row in ended:
            *key, _ = row.labels
            jobs[tuple(key)] = jobs.get(tuple(key), 0) + int(row.n)
        attempts = {("accepted",): 0, ("not_accepted",): 0} | _counted(rows.get("webhook_attempts", []))
        return cls(
            jobs=jobs,
            job_seconds=_histogram(JOB_SECONDS, ended),
            run_iterations=_histogram(ITERATIONS, rows.get("run_iterations", [])),
            send_lateness=_histogram(LATENESS, rows.get("send_lateness", [])),
            tool_calls=_counted(rows.get("tool_calls", [])),
            candidates=_counted(rows.get("candidates", [])),
            window_actions=_deeds(rows.get("audit", [])),
            webhook_attempts=attempts,
            ledger=[_ledger_sum(row) for row in rows.get("ai_calls", [])],
            quota_exceeded=_counted(rows.get("quota_exceeded", [])),
            unpriced=_counted(rows.get("unpriced", [])),
            erased_rows=_counted(rows.get("erased", [])),
        )


def _counted(rows: Iterable[Any]) -> dict[tuple[str, ...], int]:
    return {tuple(row.labels): int(row.n) for row in rows}


def _histogram(bounds: tuple[float, ...], rows: Iterable[Any]) -> Histogram:
    """The last label is the bucket."""
    return Histogram.of(bounds, ((float(row.labels[-1]), int(row.n), row.amount) for row in rows))


def _deeds(rows: Iterable[Any]) -> dict[tuple[str, ...], int]:
    """Every action from the start, so that the first one is seen as an increase."""
    done = {row.labels[0]: int(row.n) for row in rows}
    return {(name,): done.get(action, 0) for action, name in _ACTIONS.items()}


def _ledger_sum(row: Any) -> LedgerSum:
    tokens = {kind: int(getattr(row, kind)) for kind in ("input", "cache_read", "cache_write", "output")}
    org, pipeline, provider, model, outcome = row.labels
    return LedgerSum(org, pipeline, provider, model, outcome, int(row.n), tokens, row.usd, row.eur)
