"""Replays replies of the past under a strategy, and says which of its rules would cost the prompt cache."""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import groupby, pairwise

from pipelines.autoreply.strategy.conditions import context, false_part, variables_of
from pipelines.autoreply.strategy.resolve import resolve
from pipelines.autoreply.strategy.strategy import Rule, Strategy
from pipelines.autoreply.strategy.variables import values
from schemas.dry_run import DryRunItem, DryRunOut, PastRun, RuleCount
from schemas.strategy import IntentSpec, Resolved, RuleOutcome, RuleSpec, StrategyDocuments

ASSUMED = [
    "the profile, the plan, the persona, its engine and the organisation are as they are now",
    "conversation.replies counts the bubbles that the window shows",
    "conversation.replies_last_minute and conversation.vocals_today are 0",
]
CHANGING = frozenset({"message", "now", "conversation"})
"""What differs from one reply to the next."""


def dry_run(
    documents: StrategyDocuments, tried: Collection[str], past: Sequence[PastRun], tools: Collection[str]
) -> DryRunOut:
    """`tried` are names of `documents.rules`, taken as enabled. Items come newest first."""
    enabled = {
        name: spec.model_copy(update={"enabled": True}) if name in tried else spec
        for name, spec in documents.rules.items()
    }
    strategy = Strategy.of(enabled, documents.intents)
    found = [(run, resolved) for runs in _talks(past) for run, resolved in _replay(strategy, runs, tools)]
    found.sort(key=lambda each: each[0].at, reverse=True)
    counts = Counter((rule.rule, rule.outcome) for _, resolved in found for rule in resolved.rules)
    rules = [
        RuleCount(
            rule=rule.name,
            enabled=documents.rules[rule.name].enabled,
            applied=counts[rule.name, "applied"],
            dropped=counts[rule.name, "dropped"],
            not_matched=counts[rule.name, "not_matched"],
        )
        for rule in strategy.rules
        if rule.name in tried
    ]
    return DryRunOut(
        looked_at=len(past),
        rules=rules,
        warnings=[*_varying(strategy, tried), *_changes(found)],
        assumed=ASSUMED,
        items=[_item(run, resolved, tried, enabled) for run, resolved in found],
    )


def _talks(past: Sequence[PastRun]) -> Iterator[list[PastRun]]:
    """The runs of each conversation, the oldest first."""
    ordered = sorted(past, key=lambda run: (run.case.conversation, run.at))
    for _, runs in groupby(ordered, key=lambda run: run.case.conversation):
        yield list(runs)


def _replay(strategy: Strategy, runs: Sequence[PastRun], tools: Collection[str]) -> Iterator[tuple[PastRun, Resolved]]:
    standing: list[str] = []
    for run in runs:
        resolved = resolve(strategy, run.case, tools, standing, classified=run.classified)
        if run.answered:
            standing = [rule.rule for rule in resolved.rules if rule.standing]
        yield run, resolved


def _item(run: PastRun, resolved: Resolved, tried: Collection[str], rules: Mapping[str, RuleSpec]) -> DryRunItem:
    case = run.case
    shown = [rule for rule in resolved.rules if rule.rule in tried or rule.outcome != "not_matched"]
    return DryRunItem(
        job=run.job,
        conversation=case.conversation_name,
        persona=case.persona.name,
        at=run.at,
        rules=[_explained(rule, run, rules) for rule in shown],
        inject=list(resolved.inject),
        intent=resolved.intent,
        disabled_tools=list(resolved.disabled),
        required_tools=list(resolved.required),
        autonomy=resolved.autonomy,
        control_window_seconds=resolved.window,
    )


def _explained(outcome: RuleOutcome, run: PastRun, rules: Mapping[str, RuleSpec]) -> RuleOutcome:
    if outcome.outcome != "not_matched":
        return outcome
    part = false_part(rules[outcome.rule].when, context(values(run.case)))
    return outcome.model_copy(update={"reason": f"this does not hold: {part}"})


def _varying(strategy: Strategy, tried: Collection[str]) -> Iterator[str]:
    for rule in strategy.rules:
        refused = isinstance(rule.condition, str)
        if refused or rule.name not in tried or not _takes_tools(rule, strategy.intents):
            continue
        by = sorted(CHANGING & set(variables_of(rule.spec.when)))
        if by:
            yield (
                f"rule {rule.name} takes tools away depending on {', '.join(by)}, which changes from message to "
                "message: each other set of tools is another prompt, and the provider's cache of the one before is not "
                "read"
            )


def _takes_tools(rule: Rule, intents: Mapping[str, IntentSpec]) -> bool:
    then = rule.spec.then
    named = (then.force_intent, then.reroute_intent.to if then.reroute_intent else None)
    policies = [intents[name] for name in named if name is not None and name in intents]
    return bool(then.disable_tools or any(policy.allow_tools or policy.disable_tools for policy in policies))


def _changes(found: Sequence[tuple[PastRun, Resolved]]) -> Iterator[str]:
    palettes = {resolved.disabled for _, resolved in found}
    ordered = sorted(found, key=lambda each: (each[0].case.conversation, each[0].at))
    pairs = [(one, other) for one, other in pairwise(ordered) if one[0].case.conversation == other[0].case.conversation]
    changed = sum(one[1].disabled != other[1].disabled for one, other in pairs)
    if changed:
        yield (
            f"the tools changed {changed} times from one reply to the next of the same conversation "
            f"({len(palettes)} different sets): each change reads nothing from the provider's cache"
        )
