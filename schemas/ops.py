"""What the person on call asks and is told: the facts behind "why no answer?", and the answer."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any

from schemas.claims import JobState, NoJob
from schemas.errors import Code
from schemas.http import Body


class Cause(StrEnum):
    """Why there is no answer (or that there is one). Closed: dashboards count on these names."""

    ANSWERED = "answered"
    NOTHING_ASKED = "nothing_asked"
    NOT_FROM_CONTACT = "not_from_contact"
    DELETED = "deleted"
    ERASED = "erased"
    SAFETY_LOCK = "safety_lock"
    OPTED_OUT = "opted_out"
    HUMAN_HANDLES = "human_handles"
    AUTONOMY_OFF = "autonomy_off"
    PAUSED = "paused"
    DEBOUNCE = "debounce"
    RATE_LIMITED = "rate_limited"
    MODEL_FAILING = "model_failing"
    RUNNING = "running"
    WORKER_LOST = "worker_lost"
    WINDOW = "window"
    ON_HOLD = "on_hold"
    AWAITING_APPROVAL = "awaiting_approval"
    QUIET_HOURS = "quiet_hours"
    PACING = "pacing"
    DELIVERING = "delivering"
    DELIVERY_WAITING = "delivery_waiting"
    WEBHOOK_DISABLED = "webhook_disabled"
    DUE_NOW = "due_now"
    ADMISSION = "admission"
    CLOCK_STALLED = "clock_stalled"
    WORKERS_BUSY = "workers_busy"
    WORKERS_STALLED = "workers_stalled"
    SILENT = "silent"
    FAILED = "failed"
    SUPERSEDED = "superseded"
    CANCELLED = "cancelled"
    NO_JOB = "no_job"


class Subject(StrEnum):
    CONVERSATION = "conversation"
    MESSAGE = "message"
    JOB = "job"


@dataclass(frozen=True, slots=True)
class Line:
    """A row in its queue. `working`: rows of the queue that somebody works on; `in_flight` of the organisation's
    `cap` are with workers already."""

    queue: str
    due_at: datetime | None
    dispatched_at: datetime | None
    lease_until: datetime | None
    working: int = 0
    in_flight: int = 0
    cap: int = 16


@dataclass(frozen=True, slots=True)
class AgainFacts:
    """What decides whether a job may be tried again. `closed`: why the AI may not answer here now; `went_on`: the
    contact or a person wrote since."""

    state: JobState
    code: str | None = None
    reason: str | None = None
    replies: bool = True
    bought: bool = False
    on_the_list: bool = False
    has_left: bool = False
    newer_job: str | None = None
    erased: bool = False
    closed: NoJob | None = None
    went_on: bool = False
    paused: bool = False
    refunded: bool = False


@dataclass(frozen=True, slots=True)
class JobFacts:
    """`moved_*` is the newest event that moved it: who brought it where it waits, when, why. What was edited or dropped
    meanwhile is no move."""

    id: str
    state: JobState
    line: Line
    moved_at: datetime
    moved_by: str
    moved_why: str
    code: Code | None = None
    reason: str | None = None
    note: str | None = None
    detail: str | None = None
    """The sentence behind `reason`, where the newest move has one."""
    on_hold: bool = False
    tries: int = 0
    parked_until: datetime | None = None
    ended_at: datetime | None = None
    rules: Sequence[Mapping[str, Any]] = ()
    """Of the strategy: those that matched in its run, and what became of them."""
    plan: str | None = None
    """From last time, as its newest run read it."""
    again: AgainFacts | None = None
    """Of one that has ended."""


@dataclass(frozen=True, slots=True)
class DeliveryFacts:
    """The bubble that is out, else the last one that was. `error`: what the receiver last answered."""

    state: str
    line: Line
    attempts: int
    ambiguous: bool
    error: str | None
    first_attempt_at: datetime | None


@dataclass(frozen=True, slots=True)
class MessageFacts:
    """The message that was asked about. `reason`: why it got no job when it came."""

    author: str
    created_at: datetime
    deleted_at: datetime | None = None
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Facts:
    """One moment of the database. `unanswered`: the contact did something that no ended job covers."""

    now: datetime
    subject: Subject
    handled_by: str
    persona: str
    autonomy: str
    unanswered: bool
    handled_by_who: str | None = None
    handled_at: datetime | None = None
    paused_until: datetime | None = None
    erased_at: datetime | None = None
    locked_at: datetime | None = None
    opted_out_at: datetime | None = None
    webhook_disabled_at: datetime | None = None
    follow_up_at: datetime | None = None
    no_follow_up: str | None = None
    """Why the follow-up that was planned last was not written, when nothing has been said since."""
    conversation: str = ""
    """Its name, for who is to do something about it."""
    message: MessageFacts | None = None
    job: JobFacts | None = None
    delivery: DeliveryFacts | None = None


@dataclass(frozen=True, slots=True)
class Around:
    """What was seen of the rest; None where it was not looked at."""

    redis: bool | None = None
    clock_seen: bool | None = None


@dataclass(frozen=True, slots=True)
class Explanation:
    """`next` is what a person may do; `until` when it changes by itself."""

    cause: Cause
    sentence: str
    next: str
    since: datetime | None = None
    until: datetime | None = None
    who: str | None = None
    code: Code | None = None
    facts: Mapping[str, Any] = field(default_factory=dict)


class ExplainOut(Body):
    """Why there is no answer, in one sentence, and what to do. `cause` is the machine's word for it; `until` is when
    it changes by itself; `facts` are its particulars. `simulated`: a simulator plays the models here."""

    subject: str
    kind: Subject
    organization: str
    conversation: str
    job: str | None
    cause: Cause
    code: Code | None
    sentence: str
    since: datetime | None
    until: datetime | None
    who: str | None
    next: str
    facts: dict[str, Any]
    simulated: bool = False
