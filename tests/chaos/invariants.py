"""What must hold once all is quiet, whatever broke before. Each answers its violations, with ids.

`tests/chaos/test_invariants.py` shows each of them red.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from itertools import pairwise

from tests.chaos.evidence import Applied, Evidence
from tests.chaos.plan import Kind
from tests.chaos.stage import Row

LIVE = ("queued", "running", "held", "sending")
MOST_CRASHES = 3
UNANSWERED_FOR = ("opted_out", "safety_lock", "erased")

MODEL_FAULTS = {Kind.MODEL_FAILS, Kind.MODEL_FROZEN, Kind.MODEL_CUT}
CAUSES: dict[str, set[Kind]] = {
    "AR-520": MODEL_FAULTS,
    "AR-560": {Kind.RECEIVER_REFUSES},
    "AR-571": {Kind.KILL},
}
"""Codes that a job may end with, and what must have been broken for it."""

Invariant = Callable[[Evidence], list[str]]


def accepted_messages_are_kept(seen: Evidence) -> list[str]:
    stored = Counter(row["name"] for row in seen.messages if row["name"] is not None)
    lost = [f"message {name} was accepted and is not stored" for name in seen.accepted if not stored[name]]
    return lost + [f"message {name} is stored {times} times" for name, times in stored.items() if times > 1]


def every_message_has_an_outcome(seen: Evidence) -> list[str]:
    """The newest count of each conversation is covered by a job that ended, or by a person."""
    covered: dict[int, int] = defaultdict(int)
    for job in seen.jobs:
        if job["kind"] != "delivery" and job["state"] in ("sent", "silent", "failed", "cancelled"):
            covered[job["conversation_id"]] = max(covered[job["conversation_id"]], job["inbound_seq"])
    upto = {row["id"]: max(covered[row["id"]], row["operator_seq"]) for row in seen.conversations}
    said = [row for row in seen.messages if row["author"] == "contact"]
    found = [
        f"message {row['name']} has neither job nor reason" for row in said if not (row["job_id"] or row["reason"])
    ]
    return found + [
        f"message {row['name']} is answered by nothing: count {row['seq']}, covered {upto[row['conversation_id']]}"
        for row in said
        if not row["deleted_at"] and row["reason"] not in UNANSWERED_FOR and row["seq"] > upto[row["conversation_id"]]
    ]


def every_job_says_how_it_ended(seen: Evidence) -> list[str]:
    """A failure its code, a silence and a cancel their reason, what was superseded its successor, what was sent its
    bubbles."""
    newest = {row["conversation_id"]: row["id"] for row in seen.jobs if row["kind"] != "delivery"}
    sent = {row["job_id"] for row in seen.candidates if row["state"] == "sent"}
    wants: dict[str, Callable[[Row], object]] = {
        "failed": lambda job: job["code"],
        "silent": lambda job: job["reason"],
        "cancelled": lambda job: job["reason"],
        "superseded": lambda job: newest[job["conversation_id"]] > job["id"],
        "sent": lambda job: job["id"] in sent,
    }
    return [
        f"job {job['id']} is {job['state']} and shows nothing for it"
        for job in seen.jobs
        if job["state"] in wants and not wants[job["state"]](job)
    ]


def every_story_is_whole(seen: Evidence) -> list[str]:
    """The events of a job lead from one state to the next, and end where the job is."""
    stories: dict[int, list[Row]] = defaultdict(list)
    for event in seen.events:
        stories[event["job_id"]].append(event)
    found = []
    for job in seen.jobs:
        story = stories[job["id"]]
        found += [
            f"job {job['id']} went to {one['to_state']}, then from {other['from_state']} (event {other['id']})"
            for one, other in pairwise(story)
            if one["to_state"] != other["from_state"]
        ]
        if not story or story[-1]["to_state"] != job["state"]:
            found.append(f"job {job['id']} is {job['state']}, its story ends with {story[-1:]}")
    return found


def bubbles_are_applied_once(seen: Evidence) -> list[str]:
    """One webhook id, one body; one bubble, one webhook id."""
    bodies: dict[str, set[str]] = defaultdict(set)
    ids: dict[int, set[str]] = defaultdict(set)
    for applied in seen.applied:
        bodies[applied.webhook].add(applied.body)
        ids[applied.bubble].add(applied.webhook)
    found = [f"webhook {name} came with {len(kinds)} bodies" for name, kinds in bodies.items() if len(kinds) > 1]
    return found + [f"bubble {name} came as {sorted(all_)}" for name, all_ in ids.items() if len(all_) > 1]


def bubbles_come_in_order(seen: Evidence) -> list[str]:
    """Of one conversation: jobs in their order, and bubbles within a job in theirs. What was paid for has none."""
    replies = {job["id"] for job in seen.jobs if job["kind"] != "delivery"}
    place = {row["id"]: (row["job_id"], row["ordinal"]) for row in seen.candidates if row["job_id"] in replies}
    orders: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for applied in seen.first_applied():
        if applied.bubble in place:
            orders[applied.conversation].append(place[applied.bubble])
    return [f"conversation {name}: {order}" for name, order in orders.items() if order != sorted(order)]


def sent_is_what_was_applied(seen: Evidence) -> list[str]:
    """Both ways. What was given up in doubt may have been applied, and its delivery says that it is in doubt."""
    deliveries = {row["candidate_id"]: row for row in seen.deliveries if row["candidate_id"] is not None}
    applied = {bubble.bubble: bubble for bubble in seen.applied}
    found = []
    for row in seen.candidates:
        delivery, arrived = deliveries.get(row["id"]), applied.pop(row["id"], None)
        if row["state"] == "sent":
            if arrived is None:
                found.append(f"bubble {row['id']} is sent and never arrived")
            elif delivery is None or delivery["webhook_id"] != arrived.webhook:
                found.append(f"bubble {row['id']} arrived as {arrived.webhook}, which is not its delivery")
        elif arrived is not None and not (delivery and delivery["ambiguous"]):
            found.append(f"bubble {row['id']} is {row['state']} and has arrived ({arrived.webhook})")
    return found + [f"bubble {bubble} arrived and is not stored" for bubble in applied]


def sent_bubbles_are_in_the_conversation(seen: Evidence) -> list[str]:
    lines = Counter(row["candidate_id"] for row in seen.messages if row["candidate_id"] is not None)
    return [
        f"bubble {row['id']} is sent and stands {lines[row['id']]} times in its conversation"
        for row in seen.candidates
        if row["state"] == "sent" and lines[row["id"]] != 1
    ]


def attempts_are_in_the_ledger(seen: Evidence) -> list[str]:
    """Each HTTP attempt has exactly one row. Settled rows equal what the simulator billed; the others are unknown."""
    rows = {row["call"]: row for row in seen.ledger}
    times = Counter(attempt.call for attempt in seen.attempts)
    found = [f"call {call} went out {n} times" for call, n in times.items() if n > 1]
    found += [f"request refused: {attempt.refused}" for attempt in seen.attempts if attempt.refused]
    billed = {attempt.call: attempt for attempt in seen.attempts}
    for call, attempt in billed.items():
        row = rows.get(call)
        if row is None:
            found.append(f"call {call} has no row")
        elif row["state"] == "settled" and _counts(row) != (attempt.usage or (0, 0, 0, 0, 0)):
            found.append(f"call {call} is settled with {_counts(row)}, billed {attempt.usage} ({attempt.fault})")
    return found + [
        f"call {call} is settled and was never seen"
        for call, row in rows.items()
        if row["state"] == "settled" and row["outcome"] == "ok" and call not in billed
    ]


def unknown_calls_are_few(seen: Evidence) -> list[str]:
    """Nothing stays reserved. Of one claim of one run, at most one call was not heard of."""
    found = [f"call {row['call']} is still reserved" for row in seen.ledger if row["state"] == "reserved"]
    unheard = Counter((row["run_id"] or row["call"], row["fence"]) for row in unheard_calls(seen))
    return found + [f"run {run}, claim {fence}: {n} calls unheard" for (run, fence), n in unheard.items() if n > 1]


def all_is_at_rest(seen: Evidence) -> list[str]:
    """No job live, no lease left, no webhook on its way, no bubble in between, no run open, no chore stuck."""
    found = [f"job {job['id']} is {job['state']}, due {job['due_at']}" for job in seen.jobs if job["state"] in LIVE]
    for name, rows in (("job", seen.jobs), ("delivery", seen.deliveries), ("chore", seen.chores)):
        found += [f"{name} {row['id']} is still leased" for row in rows if row["lease_until"] is not None]
    found += [f"delivery {d['id']} is {d['state']}" for d in seen.deliveries if d["state"] in ("posting", "waiting")]
    found += [f"bubble {c['id']} is {c['state']}" for c in seen.candidates if c["state"] in ("preparing", "leaving")]
    found += [f"chore {chore['id']} is late" for chore in seen.chores if chore["late"]]
    return found + [f"run {run['id']} of job {run['job_id']} is open" for run in seen.runs if run["outcome"] is None]


def failures_have_a_cause(seen: Evidence) -> list[str]:
    """Jobs that failed and dead letters: their code belongs to something that was broken."""
    broken = {fault.kind for fault in seen.plan}
    found = [
        f"job {job['id']} failed with {job['code']} ({job['reason']})"
        for job in seen.jobs
        if job["state"] == "failed" and not CAUSES.get(job["code"], set()) & broken
    ]
    return found + [
        f"dead letter {letter['id']}: {letter['code']}, {letter['error']}"
        for letter in seen.letters
        if not CAUSES.get(letter["code"], set()) & broken
    ]


def deaths_are_counted(seen: Evidence) -> list[str]:
    """Nobody is taken for dead more often than somebody was killed, and nothing is tried for ever."""
    found = [f"job {job['id']} has {job['crashes']} crashes" for job in seen.jobs if job["crashes"] > MOST_CRASHES]
    found += [f"chore {row['id']} has {row['crashes']} crashes" for row in seen.chores if row["crashes"] > MOST_CRASHES]
    kills = [fault for fault in seen.plan if fault.kind is Kind.KILL and fault.target.startswith("reply")]
    poisoned = [job for job in seen.jobs if job["code"] == "AR-571"]
    return found + [
        f"job {job['id']} is given up as poison, and {len(kills)} workers were killed"
        for job in poisoned
        if len(kills) < MOST_CRASHES
    ]


def operators_were_told_the_truth(seen: Evidence) -> list[str]:
    """What a cancel answered as recalled did not leave; an edit that was taken is what arrived."""
    arrived: dict[int, Applied] = {bubble.bubble: bubble for bubble in reversed(seen.first_applied())}
    edited: dict[int, str] = {}
    found = []
    for act in seen.acts:
        if act.status != 200:
            continue
        if act.kind == "cancel":
            stopped = [_number(row["id"]) for row in act.answer["candidates"] if row["state"] == "recalled"]
            found += [f"bubble {bubble} was cancelled and arrived" for bubble in stopped if bubble in arrived]
        elif act.kind == "edit":
            edited[_number(act.answer["id"])] = act.answer["text"]
    return found + [
        f"bubble {bubble} arrived as {arrived[bubble].text!r}, edited to {text!r}"
        for bubble, text in edited.items()
        if bubble in arrived and arrived[bubble].text != text
    ]


def upstream_saw_nothing_odd(seen: Evidence) -> list[str]:
    return seen.odd


def processes_tell_of_no_fault(seen: Evidence) -> list[str]:
    return seen.faults


ALL: tuple[Invariant, ...] = (
    accepted_messages_are_kept,
    every_message_has_an_outcome,
    every_job_says_how_it_ended,
    every_story_is_whole,
    bubbles_are_applied_once,
    bubbles_come_in_order,
    sent_is_what_was_applied,
    sent_bubbles_are_in_the_conversation,
    attempts_are_in_the_ledger,
    unknown_calls_are_few,
    all_is_at_rest,
    failures_have_a_cause,
    deaths_are_counted,
    operators_were_told_the_truth,
    upstream_saw_nothing_odd,
    processes_tell_of_no_fault,
)


def violations(seen: Evidence, invariants: Iterable[Invariant] = ALL) -> list[str]:
    return [f"{invariant.__name__}: {found}" for invariant in invariants for found in invariant(seen)]


def unheard_calls(seen: Evidence) -> list[Row]:
    """Rows of calls whose answer nobody waited for any more: their worker was gone."""
    return [row for row in seen.ledger if row["state"] == "unknown" and row["outcome"] is None]


def _counts(row: Row) -> tuple[int, ...]:
    return tuple(row[name] for name in ("input", "cache_read", "cache_write_5m", "cache_write_1h", "output"))


def _number(reference: str) -> int:
    return int(reference.split("_")[1])
