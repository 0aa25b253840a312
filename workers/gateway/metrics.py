"""Counts as Prometheus text."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector

from pipelines.llm.breaker import State
from workers.adapters.postgres.counts import Counts
from workers.adapters.postgres.measures import Histogram

CONTENT_TYPE = CONTENT_TYPE_LATEST
Values = Mapping[Any, float]
"""By label values, a tuple of strings in the order of the labels."""


def render(counts: Counts, breakers: Mapping[str, State] | None = None) -> bytes:
    """`breakers` by model, `provider:name`."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Scrape(counts, breakers or {}))
    return generate_latest(registry)


class _Scrape(Collector):
    """One scrape's numbers, in the form the library renders."""

    def __init__(self, counts: Counts, breakers: Mapping[str, State]) -> None:
        self._counts = counts
        self._breakers = breakers

    def collect(self) -> Iterator[Metric]:
        return families(self._counts, self._breakers)


def families(counts: Counts, breakers: Mapping[str, State]) -> Iterator[Metric]:
    """Every metric there is, also those without a number yet."""
    yield from _queues(counts)
    yield from _work(counts)
    yield from _models(counts)
    yield from _plans(counts)
    text = "Rows erased with a contact, or as older than an organisation keeps (retention)."
    yield _counter("replique_erased_rows", text, ["reason", "store"], counts.measures.erased_rows)
    sent_away = {(why,): counts.refused.get(why, 0) for why in ("crowd", "no_connection", "no_answer")}
    text = "Requests that this gateway answered with 503, for the database was not to be had."
    yield _counter("replique_requests_shed", text, ["reason"], sent_away)
    states = {tuple(model.split(":", 1)): float(state) for model, state in breakers.items()}
    text = "Whether a model is asked: 0 yes, 1 by one call that finds out, 2 no."
    yield _gauge("replique_ai_breaker_state", text, ["provider", "model"], states)


def _queues(counts: Counts) -> Iterator[Metric]:
    depths = {(queue.queue,): queue.depth for queue in counts.queues}
    yield _gauge("replique_queue_depth", "Rows that wait, due or not yet.", ["queue"], depths)
    oldest = {(): max((queue.oldest_due_seconds for queue in counts.queues), default=0.0)}
    yield _gauge("replique_oldest_due_seconds", "Age of the oldest due row nobody works on.", [], oldest)
    yield _gauge("replique_jobs_on_hold", "Replies that wait for a person.", [], {(): counts.on_hold})
    dead = {(source,): n for source, n in counts.dead_letters.items()}
    every = {(source,): 0 for source in ("job", "delivery", "queue")}
    yield _gauge("replique_dead_letters", "Given up, and nobody has decided yet.", ["source"], every | dead)


def _work(counts: Counts) -> Iterator[Metric]:
    measures = counts.measures
    yield _counter("replique_jobs", "Jobs that ended.", ["pipeline", "outcome", "code"], measures.jobs)
    yield _histogram("replique_job_seconds", "From a job's making to its end.", measures.job_seconds)
    yield _histogram("replique_run_iterations", "Model answers of the agent in a run.", measures.run_iterations)
    yield _histogram("replique_send_lateness_seconds", "From due to left, first attempts.", measures.send_lateness)
    yield _counter("replique_tool_calls", "Tools that the agent called.", ["tool", "result"], measures.tool_calls)
    yield _counter("replique_window_actions", "What operators did to replies.", ["action"], measures.window_actions)
    yield _counter("replique_candidates", "Bubbles that ended.", ["kind", "outcome"], measures.candidates)
    attempts = measures.webhook_attempts
    yield _counter("replique_webhook_attempts", "Webhook attempts that ended.", ["outcome"], attempts)


def _models(counts: Counts) -> Iterator[Metric]:
    calls: dict[tuple[str, ...], float] = {}
    tokens: dict[tuple[str, ...], float] = {}
    usd: dict[tuple[str, ...], float] = {}
    eur: dict[tuple[str, ...], float] = {}
    for row in counts.measures.ledger:
        own = (row.org, row.pipeline, row.model)
        _add(calls, (row.provider, row.model, row.outcome), row.calls)
        _add(usd, own, float(row.usd))
        _add(eur, own, float(row.eur))
        for kind, n in row.tokens.items():
            _add(tokens, (*own, kind), n)
    labels = ["org_id", "pipeline", "model"]
    yield _counter("replique_ai_requests", "Model calls that ended.", ["provider", "model", "outcome"], calls)
    yield _counter("replique_ai_tokens", "Tokens read and written.", [*labels, "kind"], tokens)
    yield _counter("replique_ai_cost_usd", "US dollars; calls without a known price are not in it.", labels, usd)
    yield _counter("replique_ai_cost_eur", "The same at each call's dated rate.", labels, eur)


def _plans(counts: Counts) -> Iterator[Metric]:
    measures, labels = counts.measures, ["org_id", "plan"]
    text = "Calls of models without a known price: in no sum of money."
    yield _counter("replique_ai_unpriced_calls", text, ["provider", "model"], measures.unpriced)
    every: dict[tuple[str, ...], int] = {(str(org), use.plan): 0 for org, use in counts.plans if use.limit is not None}
    text = "Runs that a plan had no place for."
    yield _counter("replique_quota_exceeded", text, labels, every | measures.quota_exceeded)
    used = {(str(org), use.plan): _ratio(use.used, use.limit) for org, use in counts.plans if use.limit is not None}
    yield _gauge("replique_quota_usage_ratio", "Used of a plan's replies of this month.", labels, used)
    margins = {(str(org), use.plan): use.margin for org, use in counts.plans if use.margin is not None}
    text = "What model calls leave of a plan's price this month, as a share of it."
    yield _gauge("replique_ai_margin_ratio", text, labels, margins)


def _ratio(used: int, limit: int) -> float:
    """A plan of no replies is used up."""
    return used / limit if limit else 1.0


def _add(sums: dict[tuple[str, ...], float], key: tuple[str, ...], n: float) -> None:
    sums[key] = sums.get(key, 0) + n


def _counter(name: str, text: str, labels: Iterable[str], values: Values) -> Metric:
    family = CounterMetricFamily(name, text, labels=list(labels))
    for key, value in values.items():
        family.add_metric(list(key), value)
    return family


def _histogram(name: str, text: str, values: Histogram) -> Metric:
    return HistogramMetricFamily(name, text, buckets=values.cumulative(), sum_value=values.total)


def _gauge(name: str, text: str, labels: Iterable[str], values: Values) -> Metric:
    family = GaugeMetricFamily(name, text, labels=list(labels))
    for key, value in values.items():
        family.add_metric(list(key), value)
    return family
