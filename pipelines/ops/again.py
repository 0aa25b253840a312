"""What can be done about a job that has ended: what is advised follows from what would be refused.

What is final comes before what a person can change.
"""

from schemas.claims import JobState, NoJob
from schemas.errors import Code
from schemas.ops import AgainFacts

_ENDED = frozenset({JobState.FAILED, JobState.SILENT, JobState.CANCELLED})
_BY_HAND = "answer by hand, or leave it: the contact's next message is answered"
_OPENABLE = {
    NoJob.SAFETY_LOCK: "two people open the safety lock first; then retry it",
    NoJob.OPTED_OUT: "nothing, unless the contact asks for it",
    NoJob.HUMAN_HANDLES: "resume the conversation first; then retry it",
    NoJob.AUTONOMY_OFF: "set autonomy to draft, window or auto, and apply it; then retry it",
}


def instead(job: AgainFacts) -> str | None:
    """What to do where a retry would be refused; None: it would not. Of a job that can be retried in no case: None."""
    if job.state not in _ENDED:
        return None
    if job.erased:
        return "nothing: the contact was erased"
    return _of_a_reply(job) if job.replies else _of_a_debt(job)


def _of_a_reply(job: AgainFacts) -> str | None:
    delivered_again = job.state is JobState.FAILED and job.code == Code.DELIVERY
    if job.newer_job is not None:
        return f"see {job.newer_job}"
    if job.has_left and not delivered_again:
        return f"a bubble has left, it is not thought again: {_BY_HAND}"
    if delivered_again and job.went_on:
        return f"the conversation went on: {_BY_HAND}"
    if job.closed is not None:
        return _OPENABLE.get(job.closed)
    return "retry it when the pause is over" if delivered_again and job.paused else None


def _of_a_debt(job: AgainFacts) -> str | None:
    """A closing notice, or what was paid for: only delivered again."""
    if job.refunded:
        return "nothing: the money went back"
    given_up = job.state is JobState.FAILED and job.code == Code.DELIVERY
    stopped = job.bought and job.state is JobState.CANCELLED and job.reason in (NoJob.SAFETY_LOCK, "cancelled")
    if not given_up and not stopped:
        return "nothing: it is not delivered again"
    return _OPENABLE[NoJob.SAFETY_LOCK] if job.bought and job.closed is NoJob.SAFETY_LOCK else None


def to_do(job: AgainFacts) -> str | None:
    """For whoever came too late; None: what the state alone says."""
    if job.state not in _ENDED:
        return None
    refused = instead(job)
    if job.state is not JobState.FAILED:
        return refused
    done = refused or "retry it"
    return f"{done}, or dismiss it" if job.on_the_list else done
