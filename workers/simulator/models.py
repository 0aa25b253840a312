"""What each model takes: limits, thinking rules, forced tools, the smallest prompt that is cached."""

import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Model:
    """One model's rules. Token counts; `thinking` is the set of accepted `thinking.type` values."""

    id: str
    display_name: str
    released: str
    cache_minimum: int
    thinking: frozenset[str]
    disabled_up_to_high: bool = False
    forced_tools: bool = True
    prefill: bool = False
    sampling: bool = False
    effort: bool = True
    system_messages: bool = False
    context: int = 1_000_000
    max_output: int = 128_000


_ADAPTIVE = frozenset({"adaptive"})
_SWITCHABLE = frozenset({"adaptive", "disabled"})
_BETWEEN = frozenset({"adaptive", "between_tools"})
_EVERY = frozenset({"adaptive", "enabled", "disabled"})
_BUDGET = frozenset({"enabled", "disabled"})
_MAX_64K = 64_000
_SMALL = 200_000


def _always_thinking(name: str, label: str, released: str, *, forced_tools: bool = False) -> Model:
    return Model(name, label, released, 512, _ADAPTIVE, forced_tools=forced_tools, system_messages=True)


def _with_budget(name: str, label: str, released: str, minimum: int, *, effort: bool = False) -> Model:
    return Model(
        name, label, released, minimum, _BUDGET,
        prefill=True, sampling=True, effort=effort, context=_SMALL, max_output=_MAX_64K,
    )  # fmt: skip


MODELS = {
    model.id: model
    for model in (
        _always_thinking("claude-fable-5-2", "Claude Fable 5.2", "2026-11-09"),
        _always_thinking("claude-mythos-5-2", "Claude Mythos 5.2", "2026-11-09"),
        Model(
            "claude-haiku-5-5", "Claude Haiku 5.5", "2026-10-07", 512, _SWITCHABLE,
            disabled_up_to_high=True,
        ),
        Model(
            "claude-sonnet-5-5", "Claude Sonnet 5.5", "2026-09-28", 512, _BETWEEN,
            forced_tools=False, system_messages=True,
        ),
        _always_thinking("claude-opus-5-5", "Claude Opus 5.5", "2026-09-22"),
        _always_thinking("claude-fable-5-1", "Claude Fable 5.1", "2026-08-20"),
        _always_thinking("claude-mythos-5-1", "Claude Mythos 5.1", "2026-08-20"),
        Model("claude-sonnet-5", "Claude Sonnet 5", "2026-06-15", 1_024, _SWITCHABLE),
        _always_thinking("claude-fable-5", "Claude Fable 5", "2026-06-15", forced_tools=True),
        _always_thinking("claude-mythos-5", "Claude Mythos 5", "2026-06-15", forced_tools=True),
        Model(
            "claude-opus-5", "Claude Opus 5", "2026-06-15", 512, _SWITCHABLE,
            disabled_up_to_high=True, system_messages=True,
        ),
        Model("claude-opus-4-8", "Claude Opus 4.8", "2026-05-10", 1_024, _SWITCHABLE, system_messages=True),
        Model("claude-opus-4-7", "Claude Opus 4.7", "2026-04-10", 2_048, _SWITCHABLE),
        Model("claude-opus-4-6", "Claude Opus 4.6", "2026-02-05", 4_096, _EVERY, sampling=True),
        Model(
            "claude-sonnet-4-6", "Claude Sonnet 4.6", "2026-02-17", 1_024, _EVERY,
            sampling=True, max_output=_MAX_64K,
        ),
        _with_budget("claude-opus-4-5", "Claude Opus 4.5", "2025-11-01", 4_096, effort=True),
        _with_budget("claude-haiku-4-5", "Claude Haiku 4.5", "2025-10-01", 4_096),
        _with_budget("claude-sonnet-4-5", "Claude Sonnet 4.5", "2025-09-29", 1_024),
    )
}  # fmt: skip

_DATED = re.compile(r"-\d{8}$")


def find_model(name: str) -> Model | None:
    """The rules for a model id, with or without its date suffix."""
    return MODELS.get(_DATED.sub("", name))
