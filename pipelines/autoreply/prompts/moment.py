"""What is true only now: one block after everything that stays."""

import json
from zoneinfo import ZoneInfo

from pipelines.autoreply.context import overtaken, stamped
from pipelines.autoreply.language import wanted
from pipelines.autoreply.prompts.persona import language_name
from pipelines.autoreply.prompts.strategy import strategy_lines
from pipelines.memory.external import Source, neutralised, wrapped
from pipelines.text import storable
from schemas.catalogue import Had, MediaFact, MediaHistory
from schemas.conversation import Case, FollowUp, Trigger
from schemas.strategy import NO_STRATEGY, Resolved

_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
TOLD = 8
"""Of each kind."""

EXCERPT = 300
"""Characters of a message that is named here: all of it stands above."""

_OVERTAKEN = (
    "Your last bubbles above left before you had answered these messages of the contact, which may stand in front of "
    "them. They still wait for a reply, oldest first:\n"
)
_ANSWER = "Reply to the messages above that have no reply yet."
_FOLLOW_UP = "Get back in touch, lightly, without reproach, and do not speak as if they had just written."
NOBODY_WROTE = (
    "Nobody has written since the last message above. You left the contact on seen and planned to write first, at an "
    "hour that suits them: that hour is now."
)
_TASKS = {
    Trigger.REGENERATE: "An earlier draft of this reply was rejected. Write another one.",
}


def context_block(case: Case, zone: ZoneInfo, strategy: Resolved = NO_STRATEGY) -> str:
    """Strategy, profile, plan, clock, the operator's instruction, and the task at hand."""
    now = case.now.astimezone(zone)
    lines = [f"Now: {_DAYS[now.weekday()]} {now:%Y-%m-%d %H:%M} ({zone.key})"]
    lines += strategy_lines(strategy)
    if case.contact.display_name:
        lines.append("Contact: " + wrapped(Source.PROFILE, case.contact.display_name))
    if case.persona.spec.language is None and (language := wanted(case)) is not None:
        lines.append(f"Language of the contact: {language_name(language.tag)}")
    if case.contact.profile:
        lines.append("Profile of the contact:\n" + wrapped(Source.PROFILE, profile_text(case)))
    lines += _dealings(case.media, zone)
    if case.plan:
        lines.append(f"[PLAN] {neutralised(case.plan)}")
    if case.instruction:
        lines.append(f"Instruction of the team for this reply: {neutralised(case.instruction)}")
    if case.follow_up is not None:
        lines += _writing_first(case.follow_up)
    lines += _waiting(case, zone)
    lines.append(_TASKS.get(case.trigger, _ANSWER if case.follow_up is None else _FOLLOW_UP))
    return "<run_context>\n" + "\n".join(lines) + "\n</run_context>"


def _waiting(case: Case, zone: ZoneInfo) -> list[str]:
    """Named only where the order of the messages would say that all is answered."""
    named = [" ".join(stamped(turn, zone).split()) for turn in overtaken(case)]
    cut = [text if len(text) <= EXCERPT else text[:EXCERPT].rstrip() + " …" for text in named]
    return [_OVERTAKEN + wrapped(Source.MESSAGE, "\n".join(cut))] if cut else []


def _dealings(history: MediaHistory, zone: ZoneInfo) -> list[str]:
    """One line of each kind there is: media by their ids, the newest first, with what was asked for each."""
    bought = {fact.media for fact in history.of(Had.BOUGHT)}
    told = (
        ("Offered, not bought", [fact for fact in history.of(Had.OFFERED) if fact.media not in bought]),
        ("Bought", history.of(Had.BOUGHT)),
        ("Sent for free", history.of(Had.RECEIVED)),
    )
    shown = [(label, dict.fromkeys(_deal(fact, zone) for fact in facts[:TOLD])) for label, facts in told if facts]
    return [f"{label}: {'; '.join(deals)}" for label, deals in shown]


def _deal(fact: MediaFact, zone: ZoneInfo) -> str:
    price = "" if fact.price is None else f" for {fact.price}"
    return f"{fact.media}{price} ({fact.at.astimezone(zone):%Y-%m-%d})"


def _writing_first(follow_up: FollowUp) -> list[str]:
    lines = [NOBODY_WROTE]
    if follow_up.reason:
        lines.append(f"Why you left the contact on seen: {neutralised(follow_up.reason)}")
    if follow_up.number > 1:
        lines.append("Your last follow-up got no answer. This one is the last: after it you wait for the contact.")
    return lines


def profile_text(case: Case) -> str:
    return storable(json.dumps(case.contact.profile, ensure_ascii=False, sort_keys=True, separators=(", ", ": ")))
