"""A job that is still live: what it waits for, or who should have moved it on and did not."""

from datetime import timedelta

from pipelines.ops.ended import SILENT, attempts_of, webhook_disabled
from pipelines.text.counting import counted
from schemas.claims import JobState
from schemas.errors import Code, FailureKind
from schemas.ops import Around, Cause, DeliveryFacts, Explanation, Facts, JobFacts, Line

GRACE = timedelta(seconds=5)
"""A healthy installation moves a due row within half a second; a busy machine gets this long."""

_TOKENS = frozenset(FailureKind)
_WAIT = "wait: it goes on by itself"


def explain(job: JobFacts, facts: Facts, around: Around) -> Explanation:
    match job.state:
        case JobState.QUEUED:
            return _queued(job, facts, around)
        case JobState.RUNNING:
            return _running(job, facts, around)
    if facts.webhook_disabled_at is not None:
        return webhook_disabled(job, facts)
    if facts.delivery is not None and facts.delivery.state in ("posting", "waiting"):
        return _delivering(facts.delivery, facts, around)
    return _held_back(job, facts, around)


def _queued(job: JobFacts, facts: Facts, around: Around) -> Explanation:
    due = job.line.due_at
    if job.parked_until is not None and job.parked_until > facts.now and job.reason in _TOKENS:
        return _parked(job)
    if due is not None and due > facts.now:
        sentence = f"the contact may still be writing: the reply is begun at {due.isoformat()}"
        return Explanation(Cause.DEBOUNCE, sentence, _WAIT, since=job.moved_at, until=due, who="contact")
    return _overdue(job.line, facts, around)


def _parked(job: JobFacts) -> Explanation:
    until = job.parked_until
    limited = job.reason == FailureKind.RATE_LIMITED
    when = until.isoformat() if until else ""
    particulars = {"reason": job.reason, "failed_tries": job.tries}
    if limited:
        sentence = (
            f"the model's provider asked to come back later (429): parked until {when}, then asked little by little"
        )
        to_do = f"{_WAIT}; more quota at the provider, or another model on the route, if it lasts"
        return Explanation(
            Cause.RATE_LIMITED, sentence, to_do, since=job.moved_at, until=until, who="provider", facts=particulars
        )
    sentence = f"the model did not answer ({job.reason}), {counted(job.tries, 'time')} so far: tried again at {when}"
    to_do = f"{_WAIT}; after 8 tries it fails with {Code.MODELS_FAILED}. See the provider's state (`replique doctor`)"
    return Explanation(
        Cause.MODEL_FAILING, sentence, to_do, since=job.moved_at, until=until, who="provider", facts=particulars
    )


def _running(job: JobFacts, facts: Facts, around: Around) -> Explanation:
    lease = job.line.lease_until
    if lease is None:
        return _overdue(job.line, facts, around)
    if lease > facts.now:
        sentence = f"a worker thinks about the reply since {job.moved_at.isoformat()}"
        return Explanation(
            Cause.RUNNING, sentence, f"wait, or watch it (`replique jobs show {job.id}`)", since=job.moved_at
        )
    sentence = (
        "its worker has stopped renewing its lease: another one goes on where it was, once a clock ends the lease"
    )
    return Explanation(Cause.WORKER_LOST, sentence, _clock(around), since=lease)


def _delivering(delivery: DeliveryFacts, facts: Facts, around: Around) -> Explanation:
    line, particulars = delivery.line, attempts_of(delivery)
    if delivery.state == "posting":
        if line.lease_until is None:
            return _overdue(line, facts, around)
        sentence = "a bubble is being handed over to the webhook's receiver"
        return Explanation(Cause.DELIVERING, sentence, _WAIT, since=delivery.first_attempt_at, facts=particulars)
    if line.due_at is not None and line.due_at <= facts.now - GRACE:
        return _overdue(line, facts, around)
    sentence = f"the webhook's receiver has not taken it in {delivery.attempts} attempts; last answer: {delivery.error}"
    return Explanation(
        Cause.DELIVERY_WAITING,
        sentence,
        "mend the receiver: it is tried again for 24 h, under the same webhook-id",
        since=delivery.first_attempt_at,
        until=line.due_at,
        who="receiver",
        facts=particulars,
    )


def _held_back(job: JobFacts, facts: Facts, around: Around) -> Explanation:
    due = job.line.due_at
    if job.on_hold:
        return _on_hold(job)
    if due is None or due <= facts.now:
        return _overdue(job.line, facts, around)
    if job.moved_why == "quiet_hours":
        sentence = f"quiet hours at the contact's: the reply is ready and leaves at {due.isoformat()}"
        return Explanation(Cause.QUIET_HOURS, sentence, _WAIT, since=job.moved_at, until=due)
    if job.state is JobState.SENDING:
        sentence = f"the next bubble leaves at {due.isoformat()}, at the persona's pace"
        return Explanation(Cause.PACING, sentence, _WAIT, since=job.moved_at, until=due)
    sentence = f"the reply is in its control window and leaves at {due.isoformat()}"
    to_do = f"wait, or send it now (`replique jobs approve {job.id}`)"
    return Explanation(Cause.WINDOW, sentence, to_do, since=job.moved_at, until=due)


def _on_hold(job: JobFacts) -> Explanation:
    if job.code is not None:
        sentence = f"the reply is on hold: {job.code}, {job.detail or job.reason}"
        to_do = f"try again (`replique jobs approve {job.id}`), or edit it"
        return Explanation(Cause.ON_HOLD, sentence, to_do, since=job.moved_at, who=job.moved_by, code=job.code)
    if job.reason in SILENT:
        sentence = f"no reply is wanted, and that awaits approval: {SILENT[job.reason]}"
        to_do = f"`replique jobs approve {job.id}` agrees; cancel drops it, regenerate thinks again"
        return Explanation(Cause.AWAITING_APPROVAL, sentence, to_do, since=job.moved_at, who="operator")
    to_do = f"`replique jobs approve {job.id}` sends it; cancel drops it"
    if job.moved_why != "hold":
        sentence = "the draft awaits approval: the autonomy is draft, by the persona or by a rule"
        return Explanation(Cause.AWAITING_APPROVAL, sentence, to_do, since=job.moved_at, who="operator")
    sentence = f"{job.moved_by} has put the reply on hold"
    return Explanation(Cause.ON_HOLD, sentence, to_do, since=job.moved_at, who=job.moved_by)


def _overdue(line: Line, facts: Facts, around: Around) -> Explanation:
    """Its time has come: who has not moved it on?"""
    due = line.due_at
    if line.dispatched_at is None:
        return _not_sent_out(line, facts, around)
    if line.dispatched_at > facts.now - GRACE:
        return Explanation(Cause.DUE_NOW, "it is being taken up", _WAIT, since=due)
    particulars = {"queue": line.queue, "working": line.working}
    since = line.dispatched_at
    if line.working:
        sentence = (
            f"all workers of queue {line.queue} are busy ({counted(line.working, 'row')} in hand): it is next in line"
        )
        to_do = f"wait, or start more (`replique worker --queues {line.queue}`)"
        return Explanation(Cause.WORKERS_BUSY, sentence, to_do, since=since, who="worker", facts=particulars)
    sentence = f"no worker takes queue {line.queue}: sent out at {since.isoformat()}, and nobody claimed it"
    to_do = f"start one (`replique worker --queues {line.queue}`) and read the log of the one that should run"
    return Explanation(Cause.WORKERS_STALLED, sentence, to_do, since=since, who="worker", facts=particulars)


def _not_sent_out(line: Line, facts: Facts, around: Around) -> Explanation:
    due = line.due_at
    if line.in_flight >= line.cap:
        sentence = f"{line.in_flight} of the organisation's jobs are with workers, at most {line.cap} may be"
        to_do = "wait: they are let in one after the other; or raise limits.in_flight"
        return Explanation(Cause.ADMISSION, sentence, to_do, since=due, facts={"queue": line.queue})
    if due is None or due > facts.now - GRACE:
        return Explanation(Cause.DUE_NOW, "its time has come: it is about to be taken up", _WAIT, since=due)
    sentence = f"no clock runs: due since {due.isoformat()}, and it was never sent out"
    if around.redis is False:
        sentence = f"Redis is away: due since {due.isoformat()}, and no clock can send it out"
    return Explanation(
        Cause.CLOCK_STALLED, sentence, _clock(around), since=due, who="clock", facts={"queue": line.queue}
    )


def _clock(around: Around) -> str:
    if around.redis is False:
        return "bring Redis back: nothing is lost, everything due is sent out within a second"
    if around.clock_seen:
        return "read the clock's log: one looks, and does not move this row"
    return "start a clock (`replique clock`)"
