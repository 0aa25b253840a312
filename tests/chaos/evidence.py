"""What everybody saw: rows of the database, bubbles of the receiver, requests of the simulator, answers to the load."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.chaos.load import Act, Load
from tests.chaos.plan import Fault
from tests.chaos.stage import Row, Stage
from workers.simulator.journal import Seen

QUERIES = {
    "conversations": "SELECT id, name, inbound_seq, operator_seq, handled_by, paused_until FROM conversations",
    "messages": "SELECT id, conversation_id, name, author, seq, text, candidate_id, job_id, reason, deleted_at"
    " FROM messages ORDER BY id",
    "jobs": "SELECT id, conversation_id, kind, trigger, state, inbound_seq, code, reason, crashes, claims, on_hold,"
    " due_at, lease_until, dispatched_at, created_at, ended_at FROM jobs ORDER BY id",
    "events": "SELECT id, job_id, from_state, to_state, why, who, at FROM job_events ORDER BY id",
    "candidates": "SELECT id, job_id, conversation_id, ordinal, kind, state, text FROM candidates ORDER BY id",
    "deliveries": "SELECT id, webhook_id, type, candidate_id, job_id, state, ambiguous, attempts, crashes, lease_until,"
    " body FROM deliveries ORDER BY id",
    "runs": "SELECT id, job_id, outcome FROM runs",
    "ledger": "SELECT call, run_id, fence, state, outcome, input, cache_read, cache_write_5m, cache_write_1h, output"
    " FROM ledger",
    "chores": "SELECT id, kind, crashes, lease_until, dispatched_at, error,"
    " due_at < clock_timestamp() AS late FROM chores",
    "letters": "SELECT id, source, code, job_id, delivery_id, error FROM dead_letters",
}


@dataclass(frozen=True)
class Applied:
    """A bubble that the receiver took, at its first arrival. `bubble` is the candidate's number."""

    webhook: str
    bubble: int
    conversation: str
    text: str
    body: str


@dataclass(frozen=True)
class Attempt:
    """One request that the simulator saw. `usage` is what it billed: fresh, read, written (5 min, 1 h), output."""

    call: str
    usage: tuple[int, int, int, int, int] | None
    fault: str | None = None
    refused: str | None = None


@dataclass
class Evidence:
    conversations: list[Row] = field(default_factory=list)
    messages: list[Row] = field(default_factory=list)
    jobs: list[Row] = field(default_factory=list)
    events: list[Row] = field(default_factory=list)
    candidates: list[Row] = field(default_factory=list)
    deliveries: list[Row] = field(default_factory=list)
    runs: list[Row] = field(default_factory=list)
    ledger: list[Row] = field(default_factory=list)
    chores: list[Row] = field(default_factory=list)
    letters: list[Row] = field(default_factory=list)
    applied: list[Applied] = field(default_factory=list)
    """Each accepted attempt, so that a bubble may be there twice."""
    attempts: list[Attempt] = field(default_factory=list)
    accepted: dict[str, str] = field(default_factory=dict)
    acts: list[Act] = field(default_factory=list)
    odd: list[str] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    """Lines in which a process tells of a fault of its own."""
    plan: Sequence[Fault] = ()

    def first_applied(self) -> list[Applied]:
        """Each webhook id once, in the order of arrival."""
        found: dict[str, Applied] = {}
        for applied in self.applied:
            found.setdefault(applied.webhook, applied)
        return list(found.values())


def gather(stage: Stage, load: Load, plan: Sequence[Fault]) -> Evidence:
    rows: dict[str, Any] = {name: stage.rows(sql) for name, sql in QUERIES.items()}
    seen = list(stage.simulator.state.journal._seen)
    return Evidence(
        **rows,
        applied=[_applied(post.id, post.body) for post in stage.receiver.bubbles()],
        attempts=[_attempt(request) for request in seen if request.path == "/v1/messages"],
        accepted=dict(load.accepted),
        acts=list(load.acts),
        odd=[*load.odd, *([f"{stage.receiver.forged} webhooks were not signed"] if stage.receiver.forged else [])],
        faults=stage.told_of_faults(),
        plan=plan,
    )


def _applied(webhook: str, body: dict[str, Any]) -> Applied:
    facts = body["data"]
    frozen = json.dumps(body, sort_keys=True)
    return Applied(webhook, int(facts["id"].split("_")[1]), facts["conversation"], facts["text"], frozen)


def _attempt(seen: Seen) -> Attempt:
    usage = seen.usage
    call = seen.headers.get("x-replique-call", f"(request {seen.n} without a call id)")
    if usage is None:
        return Attempt(call, None, seen.fault, seen.refused)
    written = usage["cache_creation"]
    counts = (
        usage["input_tokens"],
        usage["cache_read_input_tokens"],
        written["ephemeral_5m_input_tokens"],
        written["ephemeral_1h_input_tokens"],
        usage["output_tokens"],
    )
    return Attempt(call, counts, seen.fault, seen.refused)
