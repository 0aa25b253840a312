"""Each invariant is silent about what is right, and red about rows that break it."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from tests.chaos.evidence import Applied, Attempt, Evidence
from tests.chaos.invariants import ALL, violations
from tests.chaos.load import Act
from tests.chaos.plan import Fault, Kind

NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)
KILL = Fault(1.0, Kind.KILL, "reply", 1.0)
REFUSAL = Fault(1.0, Kind.RECEIVER_REFUSES, "receiver", 0.0)


def a_job(id: int = 1, **fields: Any) -> dict[str, Any]:
    at_rest = {"crashes": 0, "on_hold": False, "due_at": None, "lease_until": None}
    what = {"kind": "reply", "state": "sent", "inbound_seq": 1, "code": None, "reason": None}
    return {"id": id, "conversation_id": 1, **what, **at_rest, **fields}


def a_message(name: str | None = "m1", **fields: Any) -> dict[str, Any]:
    what = {"author": "contact", "seq": 1, "job_id": 1, "reason": None, "deleted_at": None, "candidate_id": None}
    return {"conversation_id": 1, "name": name, **what, **fields}


def a_bubble(id: int, ordinal: int, **fields: Any) -> dict[str, Any]:
    return {"id": id, "job_id": 1, "conversation_id": 1, "ordinal": ordinal, "kind": "text", "state": "sent", **fields}


def a_delivery(bubble: int, **fields: Any) -> dict[str, Any]:
    what = {"state": "accepted", "ambiguous": False, "lease_until": None, "crashes": 0}
    return {"id": bubble, "webhook_id": f"w{bubble}", "candidate_id": bubble, **what, **fields}


def a_call(call: str, **fields: Any) -> dict[str, Any]:
    counts = {"input": 10, "cache_read": 5, "cache_write_5m": 0, "cache_write_1h": 2, "output": 3}
    return {"call": call, "run_id": 1, "fence": 1, "state": "settled", "outcome": "ok", **counts, **fields}


def an_event(id: int, from_state: str | None, to_state: str, job: int = 1) -> dict[str, Any]:
    return {"id": id, "job_id": job, "from_state": from_state, "to_state": to_state}


def arrived(bubble: int, text: str = "coucou", webhook: str | None = None) -> Applied:
    return Applied(webhook or f"w{bubble}", bubble, "c1", text, f"body of {bubble}: {text}")


def all_well() -> Evidence:
    """A conversation of one message, answered by two bubbles after a model call; another call was lost in a kill."""
    lost = {"state": "unknown", "outcome": None, "input": 0, "cache_read": 0, "cache_write_1h": 0, "output": 0}
    return Evidence(
        conversations=[{"id": 1, "name": "c1", "operator_seq": 0}],
        messages=[
            a_message(),
            a_message(None, author="ai", seq=None, candidate_id=11),
            a_message(None, author="ai", seq=None, candidate_id=12),
        ],
        jobs=[a_job()],
        events=[an_event(1, None, "queued"), an_event(2, "queued", "running"), an_event(3, "running", "sent")],
        candidates=[a_bubble(11, 1), a_bubble(12, 2)],
        deliveries=[a_delivery(11), a_delivery(12)],
        runs=[{"id": 1, "job_id": 1, "outcome": "decided"}],
        ledger=[a_call("1.1.1", **lost), a_call("1.1.2", fence=2)],
        chores=[{"id": 1, "crashes": 0, "lease_until": None, "late": False}],
        letters=[],
        applied=[arrived(11), arrived(12), arrived(12)],
        attempts=[Attempt("1.1.1", (10, 5, 0, 2, 3)), Attempt("1.1.2", (10, 5, 0, 2, 3))],
        accepted={"m1": "c1"},
        plan=(KILL,),
    )


Break = Callable[[Evidence], object]

BREAKS: list[tuple[str, str, Break]] = [
    ("accepted_messages_are_kept", "m2", lambda seen: seen.accepted.update(m2="c1")),
    ("accepted_messages_are_kept", "m1 is stored 2", lambda seen: seen.messages.append(a_message())),
    ("every_message_has_an_outcome", "neither", lambda seen: seen.messages[0].update(job_id=None)),
    ("every_message_has_an_outcome", "count 2, covered 1", lambda seen: seen.messages[0].update(seq=2)),
    (
        "every_message_has_an_outcome",
        "count 1, covered 0",
        lambda seen: seen.jobs[0].update(state="superseded"),
    ),
    ("every_job_says_how_it_ended", "job 2 is failed", lambda seen: seen.jobs.append(a_job(2, state="failed"))),
    ("every_job_says_how_it_ended", "job 2 is silent", lambda seen: seen.jobs.append(a_job(2, state="silent"))),
    ("every_job_says_how_it_ended", "job 2 is cancel", lambda seen: seen.jobs.append(a_job(2, state="cancelled"))),
    ("every_job_says_how_it_ended", "job 2 is supers", lambda seen: seen.jobs.append(a_job(2, state="superseded"))),
    ("every_job_says_how_it_ended", "job 2 is sent", lambda seen: seen.jobs.append(a_job(2))),
    ("every_story_is_whole", "then from queued", lambda seen: seen.events.append(an_event(4, "queued", "sent"))),
    ("every_story_is_whole", "its story ends", lambda seen: seen.events.pop()),
    ("bubbles_are_applied_once", "w11 came with 2", lambda seen: seen.applied.append(arrived(11, "autre"))),
    ("bubbles_are_applied_once", "11 came as", lambda seen: seen.applied.append(arrived(11, webhook="w99"))),
    ("bubbles_come_in_order", "c1", lambda seen: seen.applied.reverse()),
    ("sent_is_what_was_applied", "11 is sent and never", lambda seen: seen.applied.pop(0)),
    ("sent_is_what_was_applied", "which is not its", lambda seen: seen.deliveries[0].update(webhook_id="w9")),
    ("sent_is_what_was_applied", "11 is failed", lambda seen: seen.candidates[0].update(state="failed")),
    ("sent_is_what_was_applied", "13 arrived and is", lambda seen: seen.applied.append(arrived(13))),
    ("sent_bubbles_are_in_the_conversation", "11", lambda seen: seen.messages.pop(1)),
    ("attempts_are_in_the_ledger", "1.1.2 went out 2", lambda seen: seen.attempts.append(seen.attempts[1])),
    ("attempts_are_in_the_ledger", "1.9.1 has no row", lambda seen: seen.attempts.append(Attempt("1.9.1", None))),
    ("attempts_are_in_the_ledger", "1.1.2 is settled with", lambda seen: seen.ledger[1].update(output=4)),
    ("attempts_are_in_the_ledger", "never seen", lambda seen: seen.attempts.pop()),
    (
        "attempts_are_in_the_ledger",
        "refused",
        lambda seen: seen.attempts.append(Attempt("1.1.1", None, refused="bad request")),
    ),
    ("unknown_calls_are_few", "still reserved", lambda seen: seen.ledger[0].update(state="reserved")),
    (
        "unknown_calls_are_few",
        "run 1, claim 1: 2",
        lambda seen: seen.ledger.append(a_call("1.2.1", state="unknown", outcome=None)),
    ),
    ("all_is_at_rest", "job 2 is held", lambda seen: seen.jobs.append(a_job(2, state="held"))),
    ("all_is_at_rest", "job 1 is still leased", lambda seen: seen.jobs[0].update(lease_until=NOON)),
    ("all_is_at_rest", "delivery 11 is still leased", lambda seen: seen.deliveries[0].update(lease_until=NOON)),
    ("all_is_at_rest", "delivery 11 is waiting", lambda seen: seen.deliveries[0].update(state="waiting")),
    ("all_is_at_rest", "bubble 11 is leaving", lambda seen: seen.candidates[0].update(state="leaving")),
    ("all_is_at_rest", "chore 1 is late", lambda seen: seen.chores[0].update(late=True)),
    ("all_is_at_rest", "run 1 of job 1 is open", lambda seen: seen.runs[0].update(outcome=None)),
    (
        "failures_have_a_cause",
        "job 2 failed with AR-553",
        lambda seen: seen.jobs.append(a_job(2, state="failed", code="AR-553")),
    ),
    (
        "failures_have_a_cause",
        "dead letter 1",
        lambda seen: seen.letters.append({"id": 1, "code": "AR-570", "error": "?"}),
    ),
    ("deaths_are_counted", "job 1 has 4", lambda seen: seen.jobs[0].update(crashes=4)),
    ("deaths_are_counted", "chore 1 has 4", lambda seen: seen.chores[0].update(crashes=4)),
    ("deaths_are_counted", "poison", lambda seen: seen.jobs[0].update(code="AR-571")),
    (
        "operators_were_told_the_truth",
        "11 was cancelled",
        lambda seen: seen.acts.append(
            Act("cancel", "c1", "job_1", 200, {"candidates": [{"id": "bub_11", "state": "recalled"}]})
        ),
    ),
    (
        "operators_were_told_the_truth",
        "'autre'",
        lambda seen: seen.acts.append(Act("edit", "c1", "job_1", 200, {"id": "bub_11", "text": "autre"})),
    ),
    ("processes_tell_of_no_fault", "KeyError", lambda seen: seen.faults.append("send.log: KeyError")),
    ("upstream_saw_nothing_odd", "500", lambda seen: seen.odd.append("POST /v1/messages: 500")),
]


def test_nothing_is_said_about_what_is_right() -> None:
    assert violations(all_well()) == []


@pytest.mark.parametrize(("name", "words", "broken"), BREAKS, ids=[f"{n}: {w}" for n, w, _ in BREAKS])
def test_what_breaks_it_is_told_with_its_id(name: str, words: str, broken: Break) -> None:
    seen = all_well()
    broken(seen)
    assert [found for found in violations(seen) if found.startswith(name) and words in found] != []


def test_each_invariant_is_shown_red() -> None:
    assert {invariant.__name__ for invariant in ALL} == {name for name, _, _ in BREAKS}


def test_a_failure_with_its_cause_and_a_bubble_in_doubt_are_right() -> None:
    """Applied, the answer lost, then refused for good: its delivery says that it is in doubt."""
    seen = all_well()
    seen.plan = (KILL, REFUSAL)
    seen.jobs.append(a_job(2, state="failed", code="AR-560"))
    seen.events += [an_event(4, None, "failed", job=2)]
    seen.candidates.append(a_bubble(13, 1, job_id=2, state="failed"))
    seen.deliveries.append(a_delivery(13, state="failed", ambiguous=True))
    seen.applied.append(arrived(13))
    assert violations(seen) == []


def test_what_is_superseded_has_a_successor() -> None:
    seen = all_well()
    seen.jobs.insert(0, a_job(0, state="superseded"))
    seen.events.insert(0, an_event(0, None, "superseded", job=0))
    assert violations(seen) == []
