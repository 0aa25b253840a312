"""Which rules fire, which give way, and what is left of them."""

from collections.abc import Sequence
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from pipelines.autoreply.strategy.resolve import HAS_FIRED, resolve, settle
from pipelines.autoreply.strategy.strategy import Rule, Strategy
from pipelines.autoreply.tools import TOOL_NAMES
from schemas.strategy import IntentSpec, Resolved, RuleSpec
from tests.builders import a_case


def rule(when: str = "true", then: dict[str, Any] | None = None, **fields: Any) -> RuleSpec:
    return RuleSpec.model_validate({"when": when, "then": then or {"inject": "x"}, **fields}, strict=False)


def outcome(rules: dict[str, RuleSpec], standing: Sequence[str] = (), **intents: dict[str, Any]) -> Resolved:
    specs = {name: IntentSpec.model_validate(spec, strict=False) for name, spec in intents.items()}
    case = a_case("coucou", contact={"profile": {"vip": True}})
    return resolve(Strategy.of(rules, specs), case, TOOL_NAMES, standing)


def told(found: Resolved) -> dict[str, tuple[str, str | None]]:
    return {rule.rule: (rule.outcome, rule.reason) for rule in found.rules}


def test_priority_then_name_is_the_order_of_what_is_injected() -> None:
    found = outcome(
        {
            "b": rule(then={"inject": "two"}),
            "a": rule(then={"inject": "one"}),
            "top": rule(then={"inject": "zero"}, priority=5),
        }
    )

    assert found.inject == ("zero", "one", "two")


def test_every_rule_says_why_it_did_not_fire() -> None:
    found = outcome(
        {
            "applied": rule("contact.profile.vip", priority=9, excludes=["excluded"]),
            "false": rule("message.count > 5"),
            "broken": rule("contact.profile.age > 30"),
            "excluded": rule(),
            "lonely": rule(requires=["false"]),
            "fired": rule(once=True),
            "elsewhere": rule(persona="lea"),
            "off": rule(enabled=False),
        },
        standing=["fired"],
    )

    assert told(found) == {
        "applied": ("applied", None),
        "broken": ("dropped", "its condition could not be evaluated: there is no 'age'; ask has(…) first"),
        "excluded": ("dropped", "applied comes before it, and they exclude each other"),
        "false": ("not_matched", "its condition does not hold"),
        "fired": ("dropped", HAS_FIRED),
        "lonely": ("dropped", "it requires false, which does not apply"),
    }


def test_once_stands_from_when_it_fires_until_its_condition_is_false() -> None:
    first = outcome({"hello": rule(once=True)})
    again = outcome({"hello": rule(once=True)}, standing=["hello"])
    shifted = outcome({"hello": rule("false", once=True)}, standing=["hello"])

    assert [found.rules[0].standing for found in (first, again, shifted)] == [True, True, False]
    assert [found.inject for found in (first, again, shifted)] == [("x",), (), ()]


def test_policies_meet_in_their_intersection() -> None:
    found = outcome(
        {
            "a": rule(then={"disable_tools": ["send_payment"], "autonomy": "auto", "control_window_seconds": 5}),
            "b": rule(then={"disable_tools": ["send_vocal"], "autonomy": "draft", "control_window_seconds": 90}),
            "c": rule(then={"require_tools": ["send_vocal", "set_plan", "send_image"], "autonomy": "window"}),
        }
    )

    assert (found.disabled, found.required, found.autonomy, found.autonomy_by, found.window) == (
        ("send_payment", "send_vocal"),
        ("set_plan", "send_image"),
        "draft",
        "b",
        90,
    )


def test_an_intent_brings_guidance_and_allows_its_tools_alone() -> None:
    found = outcome(
        {"sell": rule(then={"force_intent": "sales"})},
        sales={"guidance": "Be brief.", "allow_tools": ["send_message", "set_plan"], "disable_tools": ["set_plan"]},
    )

    assert (found.intent, found.guidance) == ("sales", "Be brief.")
    assert set(found.disabled) == TOOL_NAMES - {"send_message"}


def test_the_first_forced_intent_stands_and_a_reroute_sees_what_came_before_it() -> None:
    found = outcome(
        {
            "early": rule(then={"reroute_intent": {"from": "sales", "to": "care"}}, priority=9),
            "first": rule(then={"force_intent": "sales"}, priority=8),
            "late": rule(then={"reroute_intent": {"from": "sales", "to": "care"}}, priority=7),
            "second": rule(then={"force_intent": "small_talk"}, priority=6),
        },
        care={"guidance": "Listen."},
        sales={"guidance": "Sell."},
    )

    assert (found.intent, found.guidance) == ("care", "Listen.")
    assert told(found) == {
        "early": ("applied", "it reroutes sales, and the intent was not set"),
        "first": ("applied", None),
        "late": ("applied", None),
        "second": ("applied", "its intent small_talk gives way: first has set one"),
    }


def test_rules_that_require_each_other_stay_or_fall_together() -> None:
    together = outcome({"a": rule(requires=["b"]), "b": rule(requires=["a"])})
    apart = outcome({"a": rule(requires=["b"]), "b": rule(requires=["a"]), "c": rule(priority=1, excludes=["b"])})

    assert [rule.outcome for rule in together.rules] == ["applied", "applied"]
    assert told(apart) == {
        "a": ("dropped", "it requires b, which another rule excludes"),
        "b": ("dropped", "it requires a, which does not apply"),
        "c": ("applied", None),
    }


def test_what_a_fallen_rule_had_excluded_comes_back() -> None:
    found = outcome({"a": rule(priority=2, excludes=["b"], requires=["c"]), "b": rule(), "c": rule("false")})

    assert told(found)["b"] == ("applied", None)


def test_the_rule_with_the_least_say_falls_first_so_that_others_are_whole_again() -> None:
    found = outcome(
        {
            "top": rule(priority=9, excludes=["d"]),
            "a": rule(priority=8, requires=["c"]),
            "b": rule(priority=7, requires=["d"], excludes=["c"]),
            "c": rule(priority=6),
            "d": rule(priority=5),
        }
    )

    assert [one.rule for one in found.rules if one.outcome == "applied"] == ["top", "a", "c"]


NAMES = ["a", "b", "c", "d", "e", "f"]
NAME_LISTS = st.lists(st.sampled_from([*NAMES, "absent"]), max_size=3, unique=True)
RULES = st.dictionaries(
    st.sampled_from(NAMES),
    st.builds(lambda p, e, r: {"priority": p, "excludes": e, "requires": r}, st.integers(0, 3), NAME_LISTS, NAME_LISTS),
)


def settled(fields: dict[str, dict[str, Any]]) -> tuple[list[Rule], dict[str, str]]:
    why: dict[str, str] = {}
    rules = sorted((Rule.of(name, rule(**spec)) for name, spec in fields.items()), key=lambda one: one.order)
    return settle(rules, why), why


@given(RULES)
def test_what_stays_is_whole_and_what_falls_has_a_reason(fields: dict[str, dict[str, Any]]) -> None:
    stay, why = settled(fields)
    names = {one.name for one in stay}

    assert not [(a.name, b.name) for a in stay for b in stay if a is not b and b.name in a.spec.excludes]
    assert all(names.issuperset(one.spec.requires) for one in stay)
    assert set(fields) - names <= set(why)


@given(RULES)
def test_the_order_of_the_documents_decides_nothing(fields: dict[str, dict[str, Any]]) -> None:
    backwards = dict(reversed(fields.items()))

    assert [one.name for one in settled(fields)[0]] == [one.name for one in settled(backwards)[0]]


@given(RULES)
def test_nothing_falls_without_need(fields: dict[str, dict[str, Any]]) -> None:
    """A rule that excludes nothing, is excluded by none and requires none always stays; the first that requires none
    too."""
    stay = {one.name for one in settled(fields)[0]}
    excluded = {name for spec in fields.values() for name in spec["excludes"]}
    free = {n for n, spec in fields.items() if not spec["excludes"] and not spec["requires"] and n not in excluded}
    first = min(fields, key=lambda name: (-fields[name]["priority"], name), default=None)

    assert free <= stay
    assert first is None or fields[first]["requires"] or first in stay
