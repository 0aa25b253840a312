"""What the contact says that ends the run before any model is asked. No setting reaches this.

A wish for silence and a danger are heard message by message as they arrive; here they are heard again, in all that
waits for a reply together: people spread a sentence over several messages.
"""

from dataclasses import replace

from pipelines.autoreply.honesty import mode_of
from pipelines.autoreply.true_replies import true_replies
from pipelines.honesty import alarms, identity
from schemas.agent import TraceItem, TraceKind
from schemas.conversation import Author, Case, Turn
from schemas.decisions import Failure, Silence, SilenceReason
from schemas.errors import Code
from schemas.honesty import Alarm


def stopped(case: Case) -> Silence | Failure | None:
    """Safety, then silence, then who asks whether a machine writes (unless the persona may say so: `disclose`)."""
    waiting = [turn for turn in case.turns if turn.author is Author.CONTACT and not turn.answered]
    if (alarm := _alarm(case, waiting)) is not None:
        if alarm.danger is not None:
            trace = _trace(case, Code.SAFETY_STOP, alarm.danger)
            return Failure(Code.SAFETY_STOP, alarm.reason, trace, alarm=alarm)
        trace = _trace(case, None, str(alarm.stop))
        return Silence(SilenceReason.OPTED_OUT, detail=alarm.stop, trace=trace, alarm=alarm)
    if mode_of(case.persona.spec.disclosure) != "handover":
        return None
    if (rule := _asks_who_writes(case, waiting)) is not None:
        trace = _trace(case, Code.IDENTITY_QUESTION, rule)
        return Failure(Code.IDENTITY_QUESTION, rule, trace, prepared=true_replies(case))
    return None


def _alarm(case: Case, waiting: list[Turn]) -> Alarm | None:
    """What was said before consent was given, or a safety lock opened, has been dealt with."""
    since = case.contact.cleared_at
    new = [turn for turn in waiting if since is None or turn.at > since]
    found = [(turn, alarms.heard(turn.text, case.now.year, _said_before(case, turn))) for turn in new]
    if len(new) > 1:
        found.append((new[-1], alarms.heard(" ".join(turn.text for turn in new), case.now.year)))
    heard = [replace(alarm, position=turn.position) for turn, alarm in found if alarm is not None]
    if not heard:
        return None
    worst = next((alarm for alarm in heard if alarm.danger), heard[0])
    return replace(worst, stop=next((alarm.stop for alarm in heard if alarm.stop), None))


def _said_before(case: Case, turn: Turn) -> str:
    """Our last words before it."""
    ours = (said.text for said in reversed(case.turns) if said.position < turn.position and _is_ours(said))
    return next(ours, "")


def _is_ours(turn: Turn) -> bool:
    return turn.author in (Author.AI, Author.OPERATOR)


def _asks_who_writes(case: Case, waiting: list[Turn]) -> str | None:
    names = {name for name in (case.persona.name, case.persona.spec.display_name) if name}
    texts = [turn.text for turn in waiting]
    together = " ".join(texts) if len(texts) > 1 else ""
    return next((rule for text in (*texts, together) if (rule := identity.question(text, names)) is not None), None)


def _trace(case: Case, code: Code | None, rule: str) -> tuple[TraceItem, ...]:
    return (TraceItem(0, TraceKind.GUARD, case.now, {"code": code and code.value, "rule": rule}),)
