"""Reasons not to answer that need no model."""

from dataclasses import replace

from pipelines.text import is_blank
from schemas.agent import TraceItem, TraceKind
from schemas.conversation import Author, Case, Trigger, Turn
from schemas.decisions import Silence, SilenceReason
from schemas.errors import Code
from schemas.strategy import Resolved


def closed(case: Case) -> Silence | None:
    """The first reason for silence, or None: go on."""
    limit = case.organization.spec.limits.replies_per_minute
    if case.persona.spec.autonomy == "off":
        return _silence(case, SilenceReason.AUTONOMY_OFF, "the persona's autonomy is off")
    if not _something_to_answer(case):
        return _silence(case, SilenceReason.NOTHING_TO_ANSWER, "nothing to answer", Code.NOTHING_TO_ANSWER)
    if case.replies_last_minute >= limit:
        rule = f"{case.replies_last_minute} replies within a minute, at most {limit} (replies_per_minute)"
        return _silence(case, SilenceReason.BOT_LOOP, rule)
    return None


def closed_by_rule(case: Case, strategy: Resolved) -> Silence | None:
    """A rule may stop an answer as the persona can. What the persona stops is stopped before any rule is asked."""
    if strategy.autonomy != "off":
        return None
    silence = _silence(case, SilenceReason.AUTONOMY_OFF, f"rule {strategy.autonomy_by} sets the autonomy to off")
    return replace(silence, strategy=strategy)


def _something_to_answer(case: Case) -> bool:
    """A follow-up answers nobody; a second try may find its message already covered by the first."""
    heard = [turn for turn in case.turns if turn.author is Author.CONTACT and _says_something(turn)]
    if case.trigger is Trigger.FOLLOW_UP:
        return bool(case.turns)
    if case.trigger in (Trigger.REGENERATE, Trigger.RETRY, Trigger.PAYMENT):
        return bool(heard)
    return any(not turn.answered for turn in heard)


def _says_something(turn: Turn) -> bool:
    return bool(turn.attachments) or not is_blank(turn.text)


def _silence(case: Case, reason: SilenceReason, rule: str, code: Code | None = None) -> Silence:
    item = TraceItem(0, TraceKind.GUARD, case.now, {"code": code.value if code else None, "rule": rule})
    return Silence(reason, code, rule, trace=(item,))
