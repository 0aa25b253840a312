"""A strategy replayed over replies of the past."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from pipelines.autoreply.strategy.dry_run import dry_run
from pipelines.autoreply.tools import TOOL_NAMES
from schemas.dry_run import PastRun
from schemas.ids import ConversationId
from schemas.strategy import IntentSpec, RuleSpec, StrategyDocuments
from tests.builders import NOON, a_case


def past(*said: str, answered: tuple[bool, ...] = (), conversation: int = 1) -> list[PastRun]:
    cases = [replace(a_case(text), conversation=ConversationId(conversation)) for text in said]
    whole = [*answered, *[True] * (len(said) - len(answered))]
    times = [NOON + timedelta(minutes=n) for n in range(len(said))]
    return [
        PastRun(f"job_{n}", at, case, left) for n, (at, case, left) in enumerate(zip(times, cases, whole, strict=True))
    ]


def documents(intents: dict[str, dict[str, Any]] | None = None, **rules: dict[str, Any]) -> StrategyDocuments:
    return StrategyDocuments(
        {name: RuleSpec.model_validate(spec, strict=False) for name, spec in rules.items()},
        {name: IntentSpec.model_validate(spec, strict=False) for name, spec in (intents or {}).items()},
    )


ONCE = {"when": "message.text.contains('prix')", "then": {"inject": "x"}, "once": True}


@pytest.mark.parametrize(
    ("answered", "fired"), [((True, True), ["applied", "dropped"]), ((False, True), ["applied", "applied"])]
)
def test_once_counts_replies_that_somebody_saw(answered: tuple[bool, ...], fired: list[str]) -> None:
    found = dry_run(documents(r=ONCE), {"r"}, past("le prix ?", "ce prix ?", answered=answered), TOOL_NAMES)

    assert [item.rules[0].outcome for item in reversed(found.items)] == fired


@pytest.mark.parametrize(
    ("classified", "why"), [(True, None), (False, "it reroutes sales, and the intent was not set")]
)
def test_an_engine_that_classifies_is_rerouted(classified: bool, why: str | None) -> None:
    reroute = {"when": "true", "then": {"reroute_intent": {"from": "sales", "to": "care"}}}
    runs = [replace(run, classified=classified) for run in past("coucou")]
    found = dry_run(documents({"sales": {}, "care": {}}, r=reroute), {"r"}, runs, TOOL_NAMES)

    assert [item.rules[0].reason for item in found.items] == [why]


def test_conversations_do_not_mix() -> None:
    runs = [*past("le prix ?"), *past("ce prix ?", conversation=2)]
    found = dry_run(documents(r=ONCE), {"r"}, runs, TOOL_NAMES)

    assert [item.rules[0].outcome for item in found.items] == ["applied", "applied"]


@pytest.mark.parametrize(
    ("when", "part"),
    [
        ("true && message.count > 5 && false", "message.count > 5"),
        ("message.count > 5", "message.count > 5"),
        ("(message.count > 5 && true) || false", "(message.count > 5 && true) || false"),
        ("true && (false || message.count > 5)", "(false || message.count > 5)"),
        ("message.count > 5 ? true : false", "message.count > 5 ? true : false"),
        ("'&&' == '&&' && [1].exists(x, x == 2 && true)", "[1].exists(x, x == 2 && true)"),
    ],
)
def test_why_not_is_the_first_part_that_does_not_hold(when: str, part: str) -> None:
    found = dry_run(documents(r={"when": when, "then": {"inject": "x"}}), {"r"}, past("coucou"), TOOL_NAMES)

    assert found.items[0].rules[0].reason == f"this does not hold: {part}"


@pytest.mark.parametrize(
    ("when", "then", "warned"),
    [
        ("message.count > 1", {"disable_tools": ["send_vocal"]}, True),
        ("now.getHours() > 20", {"force_intent": "terse"}, True),
        ("contact.profile.vip", {"disable_tools": ["send_vocal"]}, False),
        ("message.count > 1", {"force_intent": "plain"}, False),
        ("message.count > 1", {"inject": "x"}, False),
    ],
)
def test_a_rule_that_takes_tools_by_message_is_warned_about(when: str, then: dict[str, Any], warned: bool) -> None:
    intents = {"terse": {"allow_tools": ["send_message"]}, "plain": {"guidance": "x"}}
    found = dry_run(documents(intents, r={"when": when, "then": then}), {"r"}, [], TOOL_NAMES)

    assert bool(found.warnings) is warned


def test_rules_that_are_not_tried_take_part_and_are_shown_when_they_matched() -> None:
    rules = documents(
        tried={"when": "true", "then": {"inject": "x"}, "enabled": False, "excludes": ["strong"]},
        strong={"when": "true", "then": {"inject": "y"}, "priority": 9},
        elsewhere={"when": "false", "then": {"inject": "z"}},
        asleep={"when": "true", "then": {"inject": "z"}, "enabled": False},
    )
    found = dry_run(rules, {"tried"}, past("coucou"), TOOL_NAMES)

    assert [(one.rule, one.outcome) for one in found.items[0].rules] == [("strong", "applied"), ("tried", "dropped")]
    assert [(one.rule, one.enabled, one.dropped) for one in found.rules] == [("tried", False, 1)]


def test_a_rule_that_no_longer_compiles_is_dropped_with_the_reason_and_the_others_apply() -> None:
    old = {"when": "[message.text].map(x, x + x).exists(x, x != '')", "then": {"disable_tools": ["send_vocal"]}}
    found = dry_run(documents(old=old, r=ONCE), {"old", "r"}, past("le prix ?"), TOOL_NAMES)

    why = "line 1, column 25: + inside a comprehension adds numbers alone, as in double(x.a) + double(x.b)"
    assert {rule.rule: (rule.outcome, rule.reason) for rule in found.items[0].rules} == {
        "old": ("dropped", f"its condition could not be evaluated: {why}"),
        "r": ("applied", None),
    }
    assert found.warnings == []
