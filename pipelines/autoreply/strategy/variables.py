"""What a rule's condition may look at. Every field with its type; docs/STRATEGY.md is written from this table."""

import math
from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta, timezone
from itertools import repeat
from typing import Any
from zoneinfo import ZoneInfo

from pipelines.hours import zone_of
from pipelines.text import storable
from schemas.conversation import Author, Case, Turn

MAX_TEXT, MAX_ITEMS, MAX_DEPTH, MAX_VALUES = 8000, 200, 6, 1000
"""Of what is looked at, the beginning: a condition is evaluated before every reply."""

FIELDS: Mapping[str, Mapping[str, tuple[str, str]] | tuple[str, str]] = {
    "contact": {
        "id": ("string", "your id of the contact"),
        "name": ("string", "display name; empty when unknown"),
        "locale": ("string", "as `fr` or `fr-CA`; empty when unknown"),
        "timezone": ("string", "the zone its hours are told in, as `Europe/Paris`"),
        "profile": ("map", "what your messages said of the contact; ask `has(contact.profile.x)` first"),
    },
    "conversation": {
        "id": ("string", "your id of the conversation"),
        "trigger": ("string", "`message`, `follow_up`, `regenerate`, `retry`, `resume` or `payment`"),
        "plan": ("string", "the agent's plan from last time; empty without one"),
        "instruction": ("string", "what the operator asked of this draft; empty without it"),
        "messages": ("int", "messages in the window, at least the last 15 when there are as many"),
        "replies": ("int", "bubbles we sent in this conversation, 200 at most"),
        "replies_last_minute": ("int", "AI replies within the last minute"),
        "vocals_today": ("int", "voice bubbles to this contact within 24 hours"),
        "silence_seconds": (
            "int",
            "between the newest message of the contact and the message before it; 0 without one",
        ),
    },
    "message": {
        "text": ("string", "what waits for a reply: the unanswered messages, a line each; empty for a follow-up"),
        "count": ("int", "how many messages wait for a reply"),
        "attachments": ("list(string)", "the types of their attachments, as `image`"),
        "at": ("timestamp", "when the newest message of the contact came; `now` without one"),
    },
    "persona": {
        "id": ("string", "its name in your documents"),
        "name": ("string", "its display name, else its name"),
        "language": ("string", "the language it is set to; empty without one"),
        "autonomy": ("string", "`draft`, `window` or `auto`"),
        "engine": ("string", "`v2` or `v1`"),
    },
    "now": ("timestamp", "the time of the run; `now.getHours()` is the hour on the contact's clock, 0 to 23"),
}

VARIABLES: dict[str, dict[str, str] | str] = {
    name: fields[0] if isinstance(fields, tuple) else {field: kind for field, (kind, _) in fields.items()}
    for name, fields in FIELDS.items()
}
"""The same as types alone."""


def values(case: Case) -> dict[str, Any]:
    """One case as a condition sees it, in plain Python values. `now` is on the contact's clock."""
    zone = zone_of((case.contact.timezone, case.persona.spec.timezone, case.organization.spec.timezone))
    heard = [turn for turn in case.turns if turn.author is Author.CONTACT]
    waiting = [turn for turn in heard if not turn.answered]
    spec, contact = case.persona.spec, case.contact
    return {
        "contact": {
            "id": contact.name,
            "name": _text(contact.display_name),
            "locale": _text(contact.locale),
            "timezone": zone.key,
            "profile": _bounded(contact.profile),
        },
        "conversation": {
            "id": case.conversation_name,
            "trigger": case.trigger.value,
            "plan": _text(case.plan),
            "instruction": _text(case.instruction),
            "messages": len(case.turns),
            "replies": len(case.sent_texts),
            "replies_last_minute": case.replies_last_minute,
            "vocals_today": case.vocals_today,
            "silence_seconds": _silence(case.turns),
        },
        "message": _message(heard, waiting, case.now, zone),
        "persona": {
            "id": case.persona.name,
            "name": spec.display_name or case.persona.name,
            "language": _text(spec.language),
            "autonomy": spec.autonomy,
            "engine": spec.engine,
        },
        "now": _on_clock(case.now, zone),
    }


def _message(heard: list[Turn], waiting: list[Turn], now: datetime, zone: ZoneInfo) -> dict[str, Any]:
    attached = [attachment.type for turn in waiting for attachment in turn.attachments]
    return {
        "text": _text("\n".join(turn.text for turn in waiting)),
        "count": len(waiting),
        "attachments": attached[:MAX_ITEMS],
        "at": _on_clock(heard[-1].at if heard else now, zone),
    }


def _on_clock(moment: datetime, zone: ZoneInfo) -> datetime:
    """With its offset alone: CEL's times know no zones."""
    local = moment.astimezone(zone)
    return local.replace(tzinfo=timezone(local.utcoffset() or timedelta()), fold=0)


def _silence(turns: tuple[Turn, ...]) -> int:
    newest = next((n for n in reversed(range(len(turns))) if turns[n].author is Author.CONTACT), 0)
    return int((turns[newest].at - turns[newest - 1].at).total_seconds()) if newest else 0


def _text(text: str | None) -> str:
    return storable(text or "")[:MAX_TEXT]


def _bounded(value: Any, depth: int = 0, left: Iterator[None] | None = None) -> Any:
    """JSON with its beginning only: long texts, long lists, deep nesting and what comes after MAX_VALUES (`left`) are
    cut. Numbers that CEL has no name for are its largest."""
    left = repeat(None, MAX_VALUES) if left is None else left
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, dict):
        items = list(value.items())[:MAX_ITEMS] if depth < MAX_DEPTH else []
        return {_text(str(key)): _bounded(item, depth + 1, left) for (key, item), _ in zip(items, left, strict=False)}
    if isinstance(value, list):
        items = value[:MAX_ITEMS] if depth < MAX_DEPTH else []
        return [_bounded(item, depth + 1, left) for item, _ in zip(items, left, strict=False)]
    if isinstance(value, int) and not isinstance(value, bool):
        return max(-(2**63), min(value, 2**63 - 1))
    return 0.0 if isinstance(value, float) and not math.isfinite(value) else value
