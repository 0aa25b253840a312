"""The strategy of an organisation: its rules and intents, compiled once for each version of them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache

from pipelines.autoreply.strategy.conditions import Condition, compiled
from pipelines.autoreply.strategy.tokens import CelFault
from schemas.strategy import IntentSpec, RuleSpec, StrategyDocuments


@dataclass(frozen=True, eq=False, slots=True)
class Rule:
    """`condition` is the sentence that says why there is none, when a newer version refuses what was once applied."""

    name: str
    spec: RuleSpec
    condition: Condition | str

    @classmethod
    def of(cls, name: str, spec: RuleSpec) -> "Rule":
        try:
            return cls(name, spec, compiled(spec.when))
        except CelFault as fault:
            return cls(name, spec, str(fault))

    @property
    def order(self) -> tuple[int, str]:
        """The higher priority first; of equals the one whose name comes first."""
        return (-self.spec.priority, self.name)


@dataclass(frozen=True, slots=True)
class Strategy:
    """`rules` in their order, the disabled ones left out."""

    rules: tuple[Rule, ...] = ()
    intents: Mapping[str, IntentSpec] = field(default_factory=dict)

    @classmethod
    def of(cls, rules: Mapping[str, RuleSpec], intents: Mapping[str, IntentSpec]) -> "Strategy":
        enabled = [Rule.of(name, spec) for name, spec in rules.items() if spec.enabled]
        return cls(tuple(sorted(enabled, key=lambda rule: rule.order)), intents)


@lru_cache(maxsize=1024)
def compiled_strategy(documents: StrategyDocuments) -> Strategy:
    """Once for each version of an organisation's documents."""
    return Strategy.of(documents.rules, documents.intents)
