"""What is true only now: one block after everything that stays."""

import json
from zoneinfo import ZoneInfo

from pipelines.autoreply.prompts.persona import language_name
from pipelines.memory.external import Source, neutralised, wrapped
from pipelines.text import storable
from schemas.catalogue import Had
from schemas.conversation import Case, Trigger

_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_ANSWER = "Reply to the messages above that have no reply yet."
_TASKS = {
    Trigger.FOLLOW_UP: "The contact has not written since. Get back in touch, lightly, without reproach.",
    Trigger.REGENERATE: "An earlier draft of this reply was rejected. Write another one.",
}

_BECAME = {Had.RECEIVED: "sent free", Had.OFFERED: "offered", Had.BOUGHT: "bought"}
SHOWN_OF_EACH = 8


def context_block(case: Case, zone: ZoneInfo) -> str:
    """Profile, plan, clock, the operator's instruction, and the task at hand."""
    now = case.now.astimezone(zone)
    lines = [f"Now: {_DAYS[now.weekday()]} {now:%Y-%m-%d %H:%M} ({zone.key})"]
    if case.contact.display_name:
        lines.append("Contact: " + wrapped(Source.PROFILE, case.contact.display_name))
    if case.persona.spec.language is None and case.contact.locale:
        lines.append(f"Language of the contact: {language_name(case.contact.locale)}")
    if case.contact.profile:
        lines.append("Profile of the contact:\n" + wrapped(Source.PROFILE, profile_text(case)))
    if case.media.facts:
        lines.append("Your media that this contact had:\n" + wrapped(Source.DESCRIPTION, media_text(case)))
    if case.plan:
        lines.append(f"[PLAN] {neutralised(case.plan)}")
    if case.instruction:
        lines.append(f"Instruction of the team for this reply: {neutralised(case.instruction)}")
    lines.append(_TASKS.get(case.trigger, _ANSWER))
    return "<run_context>\n" + "\n".join(lines) + "\n</run_context>"


def media_text(case: Case) -> str:
    """The newest of each kind, a line each: when, what became of it, what it is."""
    lines = []
    for what in Had:
        for fact in case.media.of(what)[:SHOWN_OF_EACH]:
            price = "" if fact.price is None else f" for {fact.price.text} {fact.price.currency}"
            lines.append(f"{fact.at:%Y-%m-%d} {_BECAME[what]} {fact.media}{price}: {fact.description[:120]}")
    return storable("\n".join(lines))


def profile_text(case: Case) -> str:
    return storable(json.dumps(case.contact.profile, ensure_ascii=False, sort_keys=True, separators=(", ", ": ")))
