"""A job that has ended: how, by whom, and what can be done about it."""

from dataclasses import dataclass

from pipelines.ops import again
from schemas.claims import JobState
from schemas.errors import CODES, Code
from schemas.ops import Cause, DeliveryFacts, Explanation, Facts, JobFacts

SILENT = {
    "left_on_read": "the agent left the contact on seen",
    "paused": "the agent paused the conversation",
    "nothing_to_answer": "there was nothing to answer: all was deleted, or only blanks",
    "bot_loop": "too many replies within a minute: probably two machines talk to each other",
    "autonomy_off": "autonomy was off, by the persona or by a rule",
    "gone": "the contact or the conversation is gone",
    "opted_out": "the contact wants no more messages",
}
_RETRY = "`replique jobs retry {job}`"
_READ = "read what it did (`replique jobs show {job}`)"
_DONE = "nothing: it is as it should be"


@dataclass(frozen=True, slots=True)
class _Advice:
    """What to do about a failure first, and the retry after it; None: nothing is to be retried."""

    first: str
    retry: str | None = f", then {_RETRY}"

    def for_(self, job: JobFacts) -> str:
        """A retry that would be refused is not advised, but what is to be done instead."""
        first = self.first.format(job=job.id)
        if self.retry is None:
            return first
        refused = _instead(job)
        return first + self.retry.format(job=job.id) if refused is None else f"{first}; {refused}"


_TO_DO = {
    Code.MODELS_FAILED: _Advice("check keys, spend and the provider's state (`replique doctor`)"),
    Code.MODEL_REFUSED: _Advice(f"{_READ}; answer by hand", f", or {_RETRY}"),
    Code.CRITICAL_REVIEW: _Advice(f"{_READ}: the review stopped it; answer by hand", None),
    Code.IDENTITY_QUESTION: _Advice(
        "`replique jobs approve {job}` sends the true reply that lies ready; or answer by hand", None
    ),
    Code.SAFETY_STOP: _Advice("answer by hand, now: a person may be in danger", None),
    Code.QUOTA: _Advice("raise the organisation's plan"),
    Code.BUDGET: _Advice("raise the budget that is spent"),
    Code.MAX_ITERATIONS: _Advice(f"{_READ}; raise MaxIterations if it was on its way"),
    Code.REFUSED_CALLS: _Advice(f"{_READ}: which rule it could not meet", f"; then {_RETRY}"),
    Code.NO_CANDIDATE: _Advice(_READ, f"; then {_RETRY}"),
    Code.TIMEOUT: _Advice(f"{_READ}: which call was slow", f"; then {_RETRY}"),
    Code.DELIVERY: _Advice("mend the receiver", f", then {_RETRY}: the bubbles are kept"),
    Code.POISON: _Advice("read the worker's log of that time"),
}
_OTHERWISE = _Advice(_READ, None)
_NEW_WEBHOOK = _Advice("apply the Organization with a webhook that works")


def explain(job: JobFacts, facts: Facts) -> Explanation:
    since = job.ended_at or job.moved_at
    match job.state:
        case JobState.SENT:
            return Explanation(Cause.ANSWERED, f"{job.id} was sent", _DONE, since=since, who=job.moved_by)
        case JobState.SILENT:
            return _silent(job)
        case JobState.FAILED:
            return _failed(job, facts)
        case JobState.SUPERSEDED:
            sentence = f"{job.id} was overtaken: the contact wrote again, and a newer job answers all of it"
            return Explanation(Cause.SUPERSEDED, sentence, "ask for the conversation", since=since, who="contact")
    sentence = f"{job.id} was cancelled by {job.moved_by} ({job.reason or job.moved_why})"
    to_do = _instead(job) or f"nothing, or `replique jobs retry {job.id}`"
    return Explanation(Cause.CANCELLED, sentence, to_do, since=since, who=job.moved_by)


def _silent(job: JobFacts) -> Explanation:
    reason = job.reason or "unknown"
    sentence = f"no reply, on purpose: {SILENT.get(reason, reason)}"
    particulars = {"reason": reason, **({"detail": job.note} if job.note else {})}
    to_do = _instead(job) or f"nothing; if it should be answered after all, `replique jobs retry {job.id}`"
    return Explanation(
        Cause.SILENT, sentence, to_do, since=job.ended_at, who=job.moved_by, code=job.code, facts=particulars
    )


def _failed(job: JobFacts, facts: Facts) -> Explanation:
    if facts.webhook_disabled_at is not None and job.code is Code.DELIVERY:
        return webhook_disabled(job, facts)
    code = job.code
    meaning = CODES[code].meaning if code is not None else "no code was kept"
    sentence = f"{job.id} failed with {code}: {meaning}"
    told = {} if job.detail is None else {"detail": job.detail}
    particulars = {"reason": job.reason, **told, **attempts_of(facts.delivery if code is Code.DELIVERY else None)}
    advice = _OTHERWISE if code is None else _TO_DO.get(code, _OTHERWISE)
    return Explanation(
        Cause.FAILED,
        sentence,
        advice.for_(job),
        since=job.ended_at,
        who=job.moved_by,
        code=code,
        facts=particulars,
    )


def _instead(job: JobFacts) -> str | None:
    return None if job.again is None else again.instead(job.again)


def webhook_disabled(job: JobFacts, facts: Facts) -> Explanation:
    return Explanation(
        Cause.WEBHOOK_DISABLED,
        "the receiver of the organisation's webhook answered 410 and so disabled it: nothing can be delivered",
        _NEW_WEBHOOK.for_(job),
        since=facts.webhook_disabled_at,
        who="receiver",
        code=job.code,
        facts=attempts_of(facts.delivery),
    )


def attempts_of(delivery: DeliveryFacts | None) -> dict[str, object]:
    if delivery is None:
        return {}
    return {"attempts": delivery.attempts, "last_answer": delivery.error, "ambiguous": delivery.ambiguous}
