"""Which rules fire on a case, which give way to others, and what is left of them as one strategy for the run.

The order of the steps is the order of the reasons: a rule whose condition does not hold is not asked further; one that
has fired once waits; then the rules that miss what they require fall, and of two that exclude each other the later.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from pipelines.autoreply.strategy.conditions import context
from pipelines.autoreply.strategy.strategy import Rule, Strategy
from pipelines.autoreply.strategy.variables import values
from schemas.conversation import Case
from schemas.strategy import NO_STRATEGY, Autonomy, IntentSpec, Resolved, RuleOutcome, ToolName

STRICTEST_FIRST: tuple[Autonomy, ...] = ("off", "draft", "window", "auto")
HAS_FIRED = "once: it has fired, and its condition has held ever since"


@dataclass(slots=True)
class _Verdicts:
    """Why each rule is out; a rule without a reason is in."""

    why: dict[str, str] = field(default_factory=dict)
    not_matched: set[str] = field(default_factory=set)
    standing: set[str] = field(default_factory=set)


def resolve(
    strategy: Strategy, case: Case, tools: Collection[str], standing: Collection[str] = (), *, classified: bool = False
) -> Resolved:
    """`tools`: those this installation has. `standing`: rules with `once` that have fired in this conversation and
    whose condition has held in every run since. `classified`: the engine finds an intent itself, and reroutes lead on
    from that one."""
    own = [rule for rule in strategy.rules if rule.spec.persona in (None, case.persona.name)]
    if not own:
        return NO_STRATEGY
    verdicts = _Verdicts()
    matched = _matched(own, case, standing, verdicts)
    applied = settle(matched, verdicts.why)
    verdicts.standing |= {rule.name for rule in applied if rule.spec.once}
    intent = _intent(applied, verdicts.why, classified=classified)
    effects = _effects(applied, intent, strategy.intents, tools, verdicts.why)
    outcomes = tuple(_outcome(rule, rule in applied, verdicts) for rule in own)
    return effects.model_copy(update={"rules": outcomes})


def _matched(own: Sequence[Rule], case: Case, standing: Collection[str], verdicts: _Verdicts) -> list[Rule]:
    seen = context(values(case))
    found = []
    for rule in own:
        answer = rule.condition if isinstance(rule.condition, str) else rule.condition.holds(seen)
        if answer is False:
            verdicts.not_matched.add(rule.name)
        elif answer is not True:
            verdicts.why[rule.name] = f"its condition could not be evaluated: {answer}"
        elif rule.spec.once and rule.name in standing:
            verdicts.why[rule.name] = HAS_FIRED
            verdicts.standing.add(rule.name)
        else:
            found.append(rule)
    return found


def settle(matched: Sequence[Rule], why: dict[str, str]) -> list[Rule]:
    """Those of `matched` (in their order) that stay; `why` is told the reason of each that does not.

    No two that stay exclude each other, and all that they require stays. Rules may require each other in a circle:
    then they stay together or fall together. What a fallen rule had excluded comes back.
    """
    alive = list(matched)
    while True:
        names = {rule.name for rule in alive}
        hopeless = [rule for rule in alive if not names.issuperset(rule.spec.requires)]
        for rule in hopeless:
            why[rule.name] = f"it requires {_missing(rule, names)}, which does not apply"
        if hopeless:
            alive = [rule for rule in alive if rule not in hopeless]
            continue
        accepted, excluded = _without_excluded(alive)
        kept = {rule.name for rule in accepted}
        broken = [rule for rule in accepted if not kept.issuperset(rule.spec.requires)]
        if not broken:
            why.update(excluded)
            return accepted
        # The last one falls first: it has the least say, and others may be whole again without it.
        last = broken[-1]
        why[last.name] = f"it requires {_missing(last, kept)}, which another rule excludes"
        alive.remove(last)


def _without_excluded(alive: Sequence[Rule]) -> tuple[list[Rule], dict[str, str]]:
    accepted: list[Rule] = []
    why = {}
    for rule in alive:
        against = next((other for other in accepted if _exclude(rule, other)), None)
        if against is None:
            accepted.append(rule)
        else:
            why[rule.name] = f"{against.name} comes before it, and they exclude each other"
    return accepted, why


def _exclude(one: Rule, other: Rule) -> bool:
    return one.name in other.spec.excludes or other.name in one.spec.excludes


def _missing(rule: Rule, there: Collection[str]) -> str:
    return ", ".join(name for name in rule.spec.requires if name not in there)


def _intent(applied: Sequence[Rule], why: dict[str, str], *, classified: bool) -> str | None:
    """The first rule that forces one decides; every reroute sees what the rules before it have set. Where none has set
    one and a classifier will, what a reroute does is not known yet."""
    intent, forced_by = None, None
    for rule in applied:
        then = rule.spec.then
        if then.force_intent is not None and forced_by is None:
            intent, forced_by = then.force_intent, rule.name
        elif then.force_intent is not None:
            why[rule.name] = f"its intent {then.force_intent} gives way: {forced_by} has set one"
        if then.reroute_intent is not None:
            if intent == then.reroute_intent.from_:
                intent = then.reroute_intent.to
            elif intent is not None or not classified:
                why[rule.name] = f"it reroutes {then.reroute_intent.from_}, and the intent was {intent or 'not set'}"
    return intent


def _effects(
    applied: Sequence[Rule],
    intent: str | None,
    intents: Mapping[str, IntentSpec],
    tools: Collection[str],
    why: dict[str, str],
) -> Resolved:
    thens = [rule.spec.then for rule in applied]
    policy = intents.get(intent, IntentSpec()) if intent is not None else IntentSpec()
    disabled: set[str] = set(policy.disable_tools).union(*(then.disable_tools for then in thens))
    if policy.allow_tools:
        disabled |= set(tools).difference(policy.allow_tools)
    autonomies = [then.autonomy for then in thens if then.autonomy is not None]
    strictest = min(autonomies, key=STRICTEST_FIRST.index, default=None)
    return Resolved(
        inject=tuple(then.inject for then in thens if then.inject is not None),
        intent=intent,
        guidance=policy.guidance,
        disabled=tuple(sorted(disabled)),
        required=_required(applied, disabled, tools, why),
        autonomy=strictest,
        autonomy_by=next((rule.name for rule in applied if rule.spec.then.autonomy == strictest), None)
        if strictest
        else None,
        window=max(
            (then.control_window_seconds for then in thens if then.control_window_seconds is not None), default=None
        ),
    )


def _required(
    applied: Sequence[Rule], disabled: Collection[str], tools: Collection[str], why: dict[str, str]
) -> tuple[ToolName, ...]:
    """In the order of the rules. What is taken away, or is not there, cannot be asked for."""
    found: dict[ToolName, None] = {}
    for rule in applied:
        for tool in rule.spec.then.require_tools:
            if tool in disabled:
                why[rule.name] = f"{tool} is required by it and disabled: disabled wins"
            elif tool not in tools:
                why[rule.name] = f"{tool} is required by it, and this installation has no such tool"
            else:
                found[tool] = None
    return tuple(found)


def _outcome(rule: Rule, applied: bool, verdicts: _Verdicts) -> RuleOutcome:
    name = rule.name
    if name in verdicts.not_matched:
        return RuleOutcome(rule=name, outcome="not_matched", reason="its condition does not hold")
    return RuleOutcome(
        rule=name,
        outcome="applied" if applied else "dropped",
        reason=verdicts.why.get(name),
        standing=name in verdicts.standing,
    )
