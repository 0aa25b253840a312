"""Why no answer? One cause for each state of affairs, and always something to do."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from pipelines.ops.again import to_do
from pipelines.ops.explain import explain
from schemas.claims import JobState, NoJob
from schemas.errors import CODES, Code
from schemas.ops import AgainFacts, Around, Cause, DeliveryFacts, Facts, JobFacts, Line, MessageFacts, Subject

NOW = datetime(2026, 11, 30, 10, 0, tzinfo=UTC)
SOON, AGO, LONG_AGO = NOW + timedelta(seconds=30), NOW - timedelta(seconds=1), NOW - timedelta(minutes=5)


def a_line(**changes: Any) -> Line:
    return Line(**({"queue": "reply", "due_at": None, "dispatched_at": None, "lease_until": None} | changes))


def a_job(state: str, line: Line | None = None, **changes: Any) -> JobFacts:
    fields = {"moved_at": LONG_AGO, "moved_by": "worker", "moved_why": "decided"} | changes
    return JobFacts("job_7", JobState(state), line or a_line(), **fields)


def a_delivery(state: str = "waiting", **changes: Any) -> DeliveryFacts:
    line = a_line(queue="send", **{"due_at": SOON, **changes.pop("line", {})})
    return DeliveryFacts(state, line, changes.pop("attempts", 3), False, "500 Internal Server Error", LONG_AGO)


def the_facts(job: JobFacts | None = None, **changes: Any) -> Facts:
    fields: dict[str, Any] = {
        "now": NOW,
        "subject": Subject.CONVERSATION,
        "handled_by": "ai",
        "persona": "maya",
        "autonomy": "window",
        "unanswered": True,
    }
    return Facts(job=job, **(fields | changes))


DISPATCHED = {"due_at": LONG_AGO, "dispatched_at": LONG_AGO}
CASES: dict[str, tuple[Facts, Cause]] = {
    "a person": (the_facts(handled_by="human", handled_by_who="zoe", handled_at=AGO), Cause.HUMAN_HANDLES),
    "a person waits for": (the_facts(handled_by="waiting"), Cause.HUMAN_HANDLES),
    "paused": (the_facts(a_job("queued", a_line(due_at=SOON)), paused_until=SOON), Cause.PAUSED),
    "pause over": (the_facts(a_job("queued", a_line(due_at=SOON)), paused_until=AGO), Cause.DEBOUNCE),
    "autonomy off": (the_facts(autonomy="off"), Cause.AUTONOMY_OFF),
    "429": (
        the_facts(a_job("queued", a_line(due_at=SOON), parked_until=SOON, reason="rate_limited")),
        Cause.RATE_LIMITED,
    ),
    "529": (
        the_facts(a_job("queued", a_line(due_at=SOON), parked_until=SOON, reason="overloaded", tries=2)),
        Cause.MODEL_FAILING,
    ),
    "parking over": (
        the_facts(a_job("queued", a_line(due_at=SOON), parked_until=AGO, reason="rate_limited")),
        Cause.DEBOUNCE,
    ),
    "debounce": (the_facts(a_job("queued", a_line(due_at=SOON))), Cause.DEBOUNCE),
    "running": (the_facts(a_job("running", a_line(lease_until=SOON))), Cause.RUNNING),
    "dead worker": (the_facts(a_job("running", a_line(lease_until=AGO))), Cause.WORKER_LOST),
    "window": (the_facts(a_job("held", a_line(due_at=SOON))), Cause.WINDOW),
    "quiet hours": (the_facts(a_job("held", a_line(due_at=SOON), moved_why="quiet_hours")), Cause.QUIET_HOURS),
    "draft": (the_facts(a_job("held", on_hold=True)), Cause.AWAITING_APPROVAL),
    "on hold": (the_facts(a_job("held", on_hold=True, moved_by="zoe", moved_why="hold")), Cause.ON_HOLD),
    "no voice": (the_facts(a_job("held", on_hold=True, code=Code.SPEECH)), Cause.ON_HOLD),
    "pacing": (the_facts(a_job("sending", a_line(due_at=SOON)), delivery=a_delivery("accepted")), Cause.PACING),
    "refused": (the_facts(a_job("sending"), delivery=a_delivery()), Cause.DELIVERY_WAITING),
    "posting": (
        the_facts(a_job("sending"), delivery=a_delivery("posting", line={"lease_until": SOON})),
        Cause.DELIVERING,
    ),
    "repeat overdue": (
        the_facts(a_job("sending"), delivery=a_delivery(line={"due_at": LONG_AGO})),
        Cause.CLOCK_STALLED,
    ),
    "410, held": (the_facts(a_job("held", a_line(due_at=SOON)), webhook_disabled_at=AGO), Cause.WEBHOOK_DISABLED),
    "410, failed": (
        the_facts(a_job("failed", code=Code.DELIVERY), webhook_disabled_at=AGO),
        Cause.WEBHOOK_DISABLED,
    ),
    "just due": (the_facts(a_job("queued", a_line(due_at=AGO))), Cause.DUE_NOW),
    "no clock": (the_facts(a_job("queued", a_line(due_at=LONG_AGO))), Cause.CLOCK_STALLED),
    "no clock for the window": (the_facts(a_job("held", a_line(due_at=LONG_AGO))), Cause.CLOCK_STALLED),
    "full": (the_facts(a_job("queued", a_line(due_at=LONG_AGO, in_flight=16))), Cause.ADMISSION),
    "just sent out": (the_facts(a_job("queued", a_line(due_at=AGO, dispatched_at=AGO))), Cause.DUE_NOW),
    "no worker": (the_facts(a_job("queued", a_line(**DISPATCHED))), Cause.WORKERS_STALLED),
    "busy": (the_facts(a_job("queued", a_line(**DISPATCHED, working=64))), Cause.WORKERS_BUSY),
    "opted out": (the_facts(opted_out_at=AGO), Cause.OPTED_OUT),
    "locked": (the_facts(locked_at=AGO, opted_out_at=AGO), Cause.SAFETY_LOCK),
    "erased": (the_facts(erased_at=AGO, locked_at=AGO, handled_by="human"), Cause.ERASED),
    "left on read": (the_facts(a_job("silent", reason="left_on_read", ended_at=AGO)), Cause.SILENT),
    "bots": (the_facts(a_job("silent", reason="bot_loop", ended_at=AGO)), Cause.SILENT),
    "sent": (the_facts(a_job("sent", ended_at=AGO), unanswered=False), Cause.ANSWERED),
    "sent, then taken over": (the_facts(a_job("sent"), unanswered=True, handled_by="human"), Cause.HUMAN_HANDLES),
    "cancelled by takeover": (
        the_facts(a_job("cancelled", reason="takeover"), handled_by="human"),
        Cause.HUMAN_HANDLES,
    ),
    "cancelled": (the_facts(a_job("cancelled", reason="cancelled", moved_by="zoe")), Cause.CANCELLED),
    "superseded": (the_facts(a_job("superseded"), subject=Subject.JOB), Cause.SUPERSEDED),
    "nothing": (the_facts(unanswered=False), Cause.NOTHING_ASKED),
    "our own": (the_facts(message=MessageFacts("ai", AGO), subject=Subject.MESSAGE), Cause.NOT_FROM_CONTACT),
    "deleted": (the_facts(message=MessageFacts("contact", AGO, AGO), subject=Subject.MESSAGE), Cause.DELETED),
    "refused then": (
        the_facts(message=MessageFacts("contact", AGO, reason="opted_out"), subject=Subject.MESSAGE),
        Cause.NO_JOB,
    ),
    "covered": (
        the_facts(message=MessageFacts("contact", AGO, reason="answered"), subject=Subject.MESSAGE),
        Cause.NO_JOB,
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_each_state_of_affairs_has_its_cause(name: str) -> None:
    facts, cause = CASES[name]

    found = explain(facts, Around())

    assert found.cause is cause
    assert found.sentence
    assert found.next


def test_every_cause_is_reached() -> None:
    reached = {cause for _, cause in CASES.values()}

    assert reached == set(Cause) - {Cause.FAILED}


@pytest.mark.parametrize("code", [code for code, of_it in CODES.items() if of_it.attention and code > "AR-520"])
def test_a_failed_job_names_its_code_and_what_to_do(code: Code) -> None:
    job = a_job("failed", code=code, reason="as the model said", ended_at=AGO)

    found = explain(the_facts(job, delivery=a_delivery("failed")), Around())

    assert (found.cause, found.code, found.since, found.who) == (Cause.FAILED, code, AGO, "worker")
    assert CODES[code].meaning in found.sentence
    assert "{" not in found.next


def test_the_sentence_behind_a_reason_is_told_beside_it() -> None:
    sentence = "its worker died 3 times"
    failed = a_job("failed", code=Code.POISON, reason="worker_died", detail=sentence, ended_at=AGO)
    waits = a_job("held", code=Code.SPEECH, reason="speech_failed", detail="openai answered 503", on_hold=True)

    assert explain(the_facts(failed), Around()).facts == {"reason": "worker_died", "detail": sentence}
    assert explain(the_facts(waits), Around()).sentence == "the reply is on hold: AR-561, openai answered 503"


def test_the_plan_that_the_run_read_is_told_with_the_rules_that_matched() -> None:
    rules = ({"rule": "sell", "outcome": "dropped", "reason": "excluded by mute"},)
    silent = a_job("silent", code=None, reason="left_on_read", plan="let him sleep", rules=rules, ended_at=AGO)

    assert explain(the_facts(silent), Around()).facts == {
        "reason": "left_on_read",
        "plan": "let him sleep",
        "rules": ["sell dropped: excluded by mute"],
    }


def test_a_refusing_receiver_is_told_with_its_answer_and_the_next_try() -> None:
    found = explain(the_facts(a_job("sending"), delivery=a_delivery()), Around())

    assert (found.who, found.since, found.until) == ("receiver", LONG_AGO, SOON)
    assert found.facts == {"attempts": 3, "last_answer": "500 Internal Server Error", "ambiguous": False}


@pytest.mark.parametrize(
    ("closed", "command"),
    [
        ({"locked_at": AGO}, "`replique conversations reopen c-12` --reason"),
        ({"opted_out_at": AGO}, "`replique conversations consent c-12`"),
        ({"handled_by": "human"}, "`replique conversations resume c-12`"),
        ({}, "`replique conversations takeover c-12`"),
    ],
)
def test_what_to_do_about_a_conversation_is_a_command_to_type(closed: dict[str, Any], command: str) -> None:
    found = explain(the_facts(conversation="c-12", **closed), Around())

    assert (command in found.next, "/v1/" in found.next) == (True, False)


def test_who_took_over_and_when() -> None:
    found = explain(the_facts(handled_by="human", handled_by_who="zoe", handled_at=AGO), Around())

    assert (found.who, found.since, found.sentence.partition(" ")[0]) == ("zoe", AGO, "zoe")


@pytest.mark.parametrize(
    ("around", "to_do"),
    [
        (Around(redis=True, clock_seen=False), "start a clock (`replique clock`)"),
        (Around(redis=True, clock_seen=True), "read the clock's log: one looks, and does not move this row"),
        (Around(redis=False), "bring Redis back: nothing is lost, everything due is sent out within a second"),
    ],
)
def test_what_to_do_about_a_clock_depends_on_what_is_seen(around: Around, to_do: str) -> None:
    found = explain(the_facts(a_job("queued", a_line(due_at=LONG_AGO))), around)

    assert (found.cause, found.next, found.since) == (Cause.CLOCK_STALLED, to_do, LONG_AGO)


LEFT = "a bubble has left, it is not thought again: answer by hand, or leave it: the contact's next message is answered"
REFUSED: dict[str, tuple[str, dict[str, Any], str]] = {
    "a bubble has left": ("cancelled", {"has_left": True}, LEFT),
    "a bubble has left, and a person handles it": (
        "cancelled",
        {"has_left": True, "closed": NoJob.HUMAN_HANDLES},
        LEFT,
    ),
    "erased": ("silent", {"erased": True}, "nothing: the contact was erased"),
    "a newer job": ("silent", {"newer_job": "job_9"}, "see job_9"),
    "taken over": ("cancelled", {"closed": NoJob.HUMAN_HANDLES}, "resume the conversation first; then retry it"),
    "failed, a newer job": (
        "failed",
        {"newer_job": "job_9"},
        "read what it did (`replique jobs show job_7`); see job_9",
    ),
    "the money went back": (
        "cancelled",
        {"replies": False, "bought": True, "refunded": True},
        "nothing: the money went back",
    ),
    "a closing notice": ("cancelled", {"replies": False}, "nothing: it is not delivered again"),
}


@pytest.mark.parametrize("how", REFUSED)
def test_no_retry_is_advised_where_it_would_be_refused(how: str) -> None:
    state, changes, told = REFUSED[how]
    code = Code.NO_CANDIDATE if state == "failed" else None
    job = a_job(state, reason="cancelled", code=code, ended_at=AGO, again=AgainFacts(JobState(state), **changes))

    assert explain(the_facts(job, subject=Subject.JOB), Around()).next == told


@pytest.mark.parametrize("state", ["failed", "silent", "cancelled"])
def test_a_retry_is_advised_where_it_would_do(state: str) -> None:
    code = Code.NO_CANDIDATE if state == "failed" else None
    job = a_job(state, reason="cancelled", code=code, ended_at=AGO, again=AgainFacts(JobState(state)))

    assert "`replique jobs retry job_7`" in explain(the_facts(job, subject=Subject.JOB), Around()).next


@pytest.mark.parametrize(
    ("again", "told"),
    [
        (AgainFacts(JobState.FAILED, on_the_list=True), "retry it, or dismiss it"),
        (AgainFacts(JobState.FAILED), "retry it"),
        (AgainFacts(JobState.FAILED, newer_job="job_9", on_the_list=True), "see job_9, or dismiss it"),
        (AgainFacts(JobState.CANCELLED), None),
        (AgainFacts(JobState.SENT, has_left=True), None),
        (AgainFacts(JobState.FAILED, code="AR-560", has_left=True), "retry it"),
    ],
)
def test_what_whoever_comes_too_late_can_do(again: AgainFacts, told: str | None) -> None:
    assert to_do(again) == told
