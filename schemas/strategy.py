"""Strategy: rules that fire on a conversation, the intents they may set, and what came of them in one run."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from schemas.resources import Seconds, Spec
from schemas.spec import Name

ToolName = Literal[
    "clear_messages",
    "conversation_pause",
    "get_media",
    "leave_on_read",
    "search_rag",
    "send_image",
    "send_message",
    "send_payment",
    "send_vocal",
    "set_plan",
]
"""The tools of a reply. Their names are fixed, so a rule may name one before this installation has it."""

Autonomy = Literal["off", "draft", "window", "auto"]

MAX_RULES = 200
"""Of one organisation: all of them are looked at before every reply."""

Tools = Annotated[tuple[ToolName, ...], Field(strict=False)]
Names = Annotated[tuple[Name, ...], Field(strict=False, max_length=50)]
Guidance = Annotated[str, Field(max_length=4000)]


class Reroute(Spec):
    """Where an intent leads instead."""

    from_: Name = Field(alias="from")
    to: Name


class Then(Spec):
    """What a rule does to one reply. What is left out stays as it is."""

    inject: Annotated[str, Field(min_length=1, max_length=4000)] | None = None
    force_intent: Name | None = None
    reroute_intent: Reroute | None = None
    disable_tools: Tools = ()
    require_tools: Tools = ()
    autonomy: Autonomy | None = None
    control_window_seconds: Seconds | None = None

    @model_validator(mode="after")
    def _does_something(self) -> "Then":
        if self == type(self).model_construct():
            raise ValueError(f"then: it does nothing; give at least one of: {', '.join(type(self).model_fields)}")
        return self


class RuleSpec(Spec):
    """`persona` null: all of them. `when` is a CEL expression (docs/STRATEGY.md); of two rules that exclude each other
    the higher `priority` stays. `once`: not again until `when` was false in between."""

    persona: Name | None = None
    priority: int = Field(0, ge=-1_000_000, le=1_000_000)
    when: str = Field(min_length=1, max_length=2000)
    then: Then
    enabled: bool = True
    once: bool = False
    excludes: Names = ()
    requires: Names = ()


class IntentSpec(Spec):
    """Guidance that joins the strategy block, and a tool policy. No `allow_tools`: all that is not disabled."""

    guidance: Guidance = ""
    allow_tools: Tools = ()
    disable_tools: Tools = ()


class RuleDocument(RuleSpec):
    kind: Literal["Rule"]
    name: Name


class IntentDocument(IntentSpec):
    kind: Literal["Intent"]
    name: Name


class RuleOutcome(Spec):
    """What became of one rule in one run. `standing`: it has fired once and does not fire again before its condition
    was false. `reason` says why it was dropped, or which part of it had no effect."""

    rule: str
    outcome: Literal["applied", "dropped", "not_matched"]
    reason: str | None = None
    standing: bool = False


class Resolved(Spec):
    """The strategy of one run, decided once at its beginning and kept with its first step.

    `inject` and `guidance` are texts for the agent; `disabled` are the tools taken away; `window` in seconds.
    """

    rules: tuple[RuleOutcome, ...] = ()
    inject: tuple[str, ...] = ()
    intent: str | None = None
    guidance: str = ""
    disabled: tuple[str, ...] = ()
    required: tuple[str, ...] = ()
    autonomy: Autonomy | None = None
    autonomy_by: str | None = None
    window: float | None = None

    @property
    def told(self) -> tuple[str, ...]:
        """What it tells the agent in words of the organisation."""
        return (*self.inject, self.guidance) if self.guidance else self.inject

    def kept(self) -> dict[str, Any]:
        """As JSON, without what says nothing."""
        return self.model_dump(mode="json", exclude_defaults=True)


NO_STRATEGY = Resolved()


@dataclass(frozen=True, eq=False, slots=True)
class StrategyDocuments:
    """The rules and intents of an organisation as they are stored, by name. One object for each version of them, so
    that what is made of it once can be found again."""

    rules: Mapping[str, RuleSpec] = field(default_factory=dict)
    intents: Mapping[str, IntentSpec] = field(default_factory=dict)


NO_DOCUMENTS = StrategyDocuments()
