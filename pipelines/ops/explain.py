"""Why is there no answer? The facts of one conversation in, one reason out.

Read top to bottom: what stops the AI for good comes before what only delays it.
"""

from collections.abc import Mapping
from dataclasses import replace
from shlex import quote
from typing import Any

from pipelines.ops import ended, waiting
from schemas.claims import JobState
from schemas.ops import Around, Cause, Explanation, Facts, JobFacts, MessageFacts, Subject

NOBODY = "nothing: it is as it should be"

_NO_JOB = {
    "echo": "it was an echo of what we sent ourselves",
    "answered": "it was changed after a reply had covered it",
    "nothing_to_answer": "the deleted message was the last one that waited",
}


def explain(facts: Facts, around: Around) -> Explanation:
    """With the plan that the job's run read and the rules that matched in it, since any of them may be the reason
    behind the reason."""
    found = _explained(facts, around)
    if facts.subject is Subject.CONVERSATION and found.cause in (Cause.SILENT, Cause.ANSWERED):
        found = _with_follow_up(found, facts)
    return found if facts.job is None else replace(found, facts={**found.facts, **_behind(facts.job)})


def _behind(job: JobFacts) -> dict[str, Any]:
    plan = {"plan": job.plan} if job.plan else {}
    return plan | ({"rules": [_told(rule) for rule in job.rules]} if job.rules else {})


def _told(rule: Mapping[str, Any]) -> str:
    because = f": {rule['reason']}" if rule.get("reason") else ""
    return f"{rule['rule']} {rule['outcome']}{because}"


def _with_follow_up(found: Explanation, facts: Facts) -> Explanation:
    """What comes of it by itself, or would have."""
    if facts.follow_up_at is not None:
        at = facts.follow_up_at
        sentence = f"{found.sentence}; a follow-up is planned for {at.isoformat()}, unless the contact writes before"
        return replace(found, sentence=sentence, until=at)
    if facts.no_follow_up is not None:
        return replace(found, sentence=f"{found.sentence}; {facts.no_follow_up}")
    return found


def _explained(facts: Facts, around: Around) -> Explanation:
    if facts.message is not None and (found := _message(facts.message)) is not None:
        return found
    job = facts.job
    if job is not None and not job.state.live and (_own(facts) or _all_said(facts)):
        return ended.explain(job, facts)
    if (found := _closed(facts)) is not None:
        return found
    if job is None:
        return _without_job(facts)
    return waiting.explain(job, facts, around) if job.state.live else ended.explain(job, facts)


def _own(facts: Facts) -> bool:
    """An ended job that was asked about, itself or by its message, speaks for itself unless it was only moved aside."""
    job = facts.job
    aside = job is not None and job.state is JobState.CANCELLED
    return facts.subject is Subject.JOB or (facts.subject is Subject.MESSAGE and not aside)


def _all_said(facts: Facts) -> bool:
    return facts.job is not None and facts.job.state is JobState.SENT and not facts.unanswered


def _message(message: MessageFacts) -> Explanation | None:
    if message.author != "contact":
        sentence = f"this message is not the contact's: it was written by {message.author}"
        return Explanation(Cause.NOT_FROM_CONTACT, sentence, NOBODY, since=message.created_at, who=message.author)
    if message.deleted_at is not None:
        sentence = "the contact deleted this message: nothing answers it"
        return Explanation(Cause.DELETED, sentence, NOBODY, since=message.deleted_at, who="contact")
    return None


def _closed(facts: Facts) -> Explanation | None:
    """What keeps the AI from answering, whatever its job does."""
    if facts.erased_at is not None:
        sentence = "the contact was erased: nothing is kept, nothing is answered"
        return Explanation(Cause.ERASED, sentence, NOBODY, since=facts.erased_at)
    if facts.locked_at is not None:
        to_do = f"read the conversation; two people open it again ({_command('reopen', facts)} --reason …)"
        return Explanation(Cause.SAFETY_LOCK, "a safety stop has locked the contact", to_do, since=facts.locked_at)
    if facts.opted_out_at is not None:
        to_do = f"nothing, unless the contact asks for it ({_command('consent', facts)})"
        return Explanation(Cause.OPTED_OUT, "the contact has opted out", to_do, since=facts.opted_out_at, who="contact")
    if facts.handled_by != "ai":
        who = facts.handled_by_who or "a person"
        sentence = f"{who} handles this conversation: the AI stands back"
        to_do = f"answer by hand, or give it back ({_command('resume', facts)})"
        return Explanation(
            Cause.HUMAN_HANDLES, sentence, to_do, since=facts.handled_at, who=facts.handled_by_who or "operator"
        )
    return _off_or_paused(facts)


def _command(verb: str, facts: Facts) -> str:
    """To be typed as it stands; an administrator names the organisation besides (`--org`), as for the question."""
    return f"`replique conversations {verb} {quote(facts.conversation)}`"


def _off_or_paused(facts: Facts) -> Explanation | None:
    if facts.autonomy == "off":
        sentence = f"the autonomy of persona {facts.persona} is off: the AI never answers for it"
        return Explanation(Cause.AUTONOMY_OFF, sentence, "set autonomy to draft, window or auto, and apply it")
    if facts.paused_until is not None and facts.paused_until > facts.now:
        sentence = f"the conversation is paused until {facts.paused_until.isoformat()}"
        to_do = "wait: what was written meanwhile is answered then; or take the conversation over"
        since = None if facts.job is None else facts.job.moved_at
        return Explanation(Cause.PAUSED, sentence, to_do, since=since, until=facts.paused_until)
    return None


def _without_job(facts: Facts) -> Explanation:
    message = facts.message
    if message is None and not facts.unanswered:
        return Explanation(Cause.NOTHING_ASKED, "nothing of the contact waits for an answer", NOBODY)
    reason = message.reason if message is not None else None
    since = message.created_at if message is not None else None
    if reason in _NO_JOB:
        return Explanation(Cause.NO_JOB, f"no reply was planned: {_NO_JOB[reason]}", NOBODY, since=since)
    why = f"({reason}) when it came, and nothing has asked again since" if reason else "and nobody has said why"
    to_do = (
        f"answer by hand ({_command('takeover', facts)}), then give it back ({_command('resume', facts)}); "
        "the contact's next message is answered"
    )
    facts_of_it = {} if reason is None else {"reason": reason}
    return Explanation(Cause.NO_JOB, f"no reply was planned {why}", to_do, since=since, facts=facts_of_it)
