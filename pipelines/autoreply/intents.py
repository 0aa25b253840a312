"""What a contact may want, as engine V1's classifier knows it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

from schemas.conversation import Case
from schemas.strategy import Reroute, Resolved

BUILT_IN = MappingProxyType(
    {
        "small_talk": "Be light and short, and keep the conversation going with one easy question.",
        "question": "Answer what was asked, with what is known. What is not known is not invented: say so, or ask.",
        "request": "Say what can be done and what cannot. Promise nothing that was not planned.",
        "compliment": "Take it warmly, without overdoing it.",
        "complaint": "Take it seriously, do not argue, and ask for what is missing to help.",
        "goodbye": "Let them go kindly, in one short message.",
        "other": "Ask, if it is not clear what is meant.",
    }
)
"""Where an organisation names none of its own. The contact wants one of these; the guidance is for the reply."""


@dataclass(frozen=True, slots=True)
class Intents:
    """`guidance` by name, never empty; `reroutes` says which intent stands in for which."""

    guidance: Mapping[str, str]
    reroutes: Mapping[str, str] = field(default_factory=dict)

    def settled(self, found: str) -> str:
        """What an intent leads to once the rules have had their say."""
        return self.reroutes.get(found, found)


def intents_of(case: Case, strategy: Resolved) -> Intents:
    """The intents of one run: the organisation's, else ours. An intent that the rules have set stands in for all;
    otherwise each leads where the rules that apply reroute it, one after the other."""
    guidance = {name: spec.guidance for name, spec in case.strategy.intents.items()} or BUILT_IN
    if strategy.intent is not None:
        return Intents(guidance, dict.fromkeys(guidance, strategy.intent))
    applied = [case.strategy.rules.get(rule.rule) for rule in strategy.rules if rule.outcome == "applied"]
    reroutes = [rule.then.reroute_intent for rule in applied if rule is not None]
    return Intents(guidance, {name: _led(name, reroutes) for name in guidance})


def _led(intent: str, reroutes: Sequence[Reroute | None]) -> str:
    for reroute in reroutes:
        if reroute is not None and reroute.from_ == intent:
            intent = reroute.to
    return intent
